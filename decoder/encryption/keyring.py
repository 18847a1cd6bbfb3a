"""The server's keyring file: of component_keyring_file, or of the older keyring_file plugin.

The component's file is JSON with the keys in hex.
Format: MySQL `components/keyrings/common/json_data/json_reader.cc`, version 1.0.
"""

from __future__ import annotations

import json

from decoder.encryption.plugin_keyring import PREFIX, plugin_keys
from decoder.errors import MalformedError

REPLICATION_KEYS = "MySQLReplicationKey_"
"""Prefix of the ids of binary log keys; other keys are for tablespaces and are not returned."""


def replication_keys(data: bytes) -> dict[str, bytes]:
    """Return the binary log keys in a keyring file, by id.

    Raises BinlogError if it is not a keyring file; the message contains nothing of its content.
    """
    keys = plugin_keys(data) if data.startswith(PREFIX) else _component_keys(data)
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
