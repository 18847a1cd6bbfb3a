"""The server's keyring file: of component_keyring_file, or of the older keyring_file plugin.

The component's file is JSON with the keys in hex. Format: MySQL
`components/keyrings/common/json_data/json_reader.cc`, version 1.0.

The plugin's, of servers before 8.4, is "Keyring file version:" and the version, the keys, "EOF",
and in version 2.0 a SHA-256 of all bytes before "EOF". A key is five u64 (sizes in bytes of the
whole key, its id, type, user and value), those four fields, and zeros up to a multiple of eight
bytes. The value is XORed with a fixed text. Format: MySQL `plugin/keyring/common/keyring_key.cc`,
`plugin/keyring/checker/`.
"""

from __future__ import annotations

import json
import struct
from itertools import cycle

from decoder.errors import MalformedError, UnsupportedError

REPLICATION_KEYS = "MySQLReplicationKey_"
"""Prefix of the ids of binary log keys; other keys are for tablespaces and are not returned."""

_PLUGIN_PREFIX = b"Keyring file version:"
_TAIL = {b"1.0": len(b"EOF"), b"2.0": len(b"EOF") + 32}
"""Bytes after the keys, by version."""
_SIZES = struct.Struct("<5Q")
_OBSCURED_WITH = b"*305=Ljt0*!@$Hnm(*-9-w;:"


def replication_keys(data: bytes) -> dict[str, bytes]:
    """Return the binary log keys in a keyring file, by id.

    Raises BinlogError if it is not a keyring file; the message contains nothing of its content.
    """
    keys = plugin_keys(data) if data.startswith(_PLUGIN_PREFIX) else _component_keys(data)
    return {key_id: key for key_id, key in keys.items() if key_id.startswith(REPLICATION_KEYS)}


def _component_keys(data: bytes) -> dict[str, bytes]:
    try:
        elements = json.loads(data)["elements"]
        if not isinstance(elements, list):
            raise TypeError
        return {str(element["data_id"]): bytes.fromhex(element["data"]) for element in elements}
    except (ValueError, KeyError, TypeError, RecursionError):
        # Not chained: these errors contain the content.
        raise MalformedError("it is not a MySQL keyring file") from None


def plugin_keys(data: bytes) -> dict[str, bytes]:
    """Return the keys in the file, by id. Raises BinlogError if it is damaged or newer than 2.0."""
    begin = len(_PLUGIN_PREFIX) + 3
    tail = _TAIL.get(data[len(_PLUGIN_PREFIX) : begin])
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
