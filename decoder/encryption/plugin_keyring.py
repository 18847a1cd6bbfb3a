"""The keyring file of the keyring_file plugin, of servers before 8.4.

"Keyring file version:" and the version, the keys, "EOF", and in version 2.0 a SHA-256 of all bytes
before "EOF". A key is five u64 (sizes in bytes of the whole key, its id, type, user and value),
those four fields, and zeros up to a multiple of eight bytes. The value is XORed with a fixed text.

Format: MySQL `plugin/keyring/common/keyring_key.cc`, `plugin/keyring/checker/`.
"""

from __future__ import annotations

import struct
from itertools import cycle

from decoder.errors import MalformedError, UnsupportedError

PREFIX = b"Keyring file version:"
_TAIL = {b"1.0": len(b"EOF"), b"2.0": len(b"EOF") + 32}
"""Bytes after the keys, by version."""
_SIZES = struct.Struct("<5Q")
_OBSCURED_WITH = b"*305=Ljt0*!@$Hnm(*-9-w;:"


def plugin_keys(data: bytes) -> dict[str, bytes]:
    """Return the keys in the file, by id. Raises BinlogError if it is damaged or newer than 2.0."""
    begin = len(PREFIX) + 3
    tail = _TAIL.get(data[len(PREFIX) : begin])
    if tail is None:
        raise UnsupportedError("the keyring file has a version other than 1.0 and 2.0")
    end = len(data) - tail
    if data[end : end + 3] != b"EOF":
        raise MalformedError("the keyring file is truncated")
    keys: dict[str, bytes] = {}
    while begin < end:
        key_id, value, begin = _key(data, begin, end)
        keys[key_id] = value
    return keys


def _key(data: bytes, begin: int, end: int) -> tuple[str, bytes, int]:
    """Return a key's id and value, and the offset of the next key."""
    if begin + _SIZES.size > end:
        raise MalformedError("the keyring file has a truncated key")
    size, id_size, type_size, user_size, value_size = _SIZES.unpack_from(data, begin)
    needed = _SIZES.size + id_size + type_size + user_size + value_size
    if not needed <= size <= end - begin:
        raise MalformedError("the keyring file has a key whose size does not match its fields")
    start = begin + _SIZES.size
    key_id = data[start : start + id_size].decode(errors="replace")
    start += id_size + type_size + user_size
    obscured = data[start : start + value_size]
    value = bytes(a ^ b for a, b in zip(obscured, cycle(_OBSCURED_WITH), strict=False))
    return key_id, value, begin + size
