"""The file in which the keyring_file plugin, of servers before 8.4, keeps its keys.

"Keyring file version:" and the version; then the keys; then EOF, and in version 2.0 a SHA-256 of
what is before. A key is five u64 (bytes of all of it, of its id, type, user and value), those four
fields, and zeros up to a multiple of eight bytes. The value is obscured with a fixed text.

Format: MySQL `plugin/keyring/common/keyring_key.cc`, `plugin/keyring/checker/`.
"""

from __future__ import annotations

import struct
from itertools import cycle

from decoder.errors import MalformedError, UnsupportedError

PREFIX = b"Keyring file version:"
_TAIL = {b"1.0": len(b"EOF"), b"2.0": len(b"EOF") + 32}
"""Bytes behind the keys, by version."""
_SIZES = struct.Struct("<5Q")
_OBSCURED_WITH = b"*305=Ljt0*!@$Hnm(*-9-w;:"


def plugin_keys(data: bytes) -> dict[str, bytes]:
    """The keys in such a file, by id. Raises BinlogError for one that is damaged or newer."""
    begin = len(PREFIX) + 3
    tail = _TAIL.get(data[len(PREFIX) : begin])
    if tail is None:
        raise UnsupportedError("it is a keyring file of a later version than 2.0")
    end = len(data) - tail
    if data[end : end + 3] != b"EOF":
        raise MalformedError("it is a keyring file that ends too early")
    keys: dict[str, bytes] = {}
    while begin < end:
        key_id, value, begin = _key(data, begin, end)
        keys[key_id] = value
    return keys


def _key(data: bytes, begin: int, end: int) -> tuple[str, bytes, int]:
    """A key's id and value, and where the next one begins."""
    if begin + _SIZES.size > end:
        raise MalformedError("it is a keyring file with a key that is cut off")
    size, id_size, type_size, user_size, value_size = _SIZES.unpack_from(data, begin)
    needed = _SIZES.size + id_size + type_size + user_size + value_size
    if not needed <= size <= end - begin:
        raise MalformedError("it is a keyring file with a key of a wrong size")
    start = begin + _SIZES.size
    key_id = data[start : start + id_size].decode(errors="replace")
    start += id_size + type_size + user_size
    obscured = data[start : start + value_size]
    value = bytes(a ^ b for a, b in zip(obscured, cycle(_OBSCURED_WITH), strict=False))
    return key_id, value, begin + size
