"""The file in which a server keeps its keys: component_keyring_file's, or its forerunner's.

The component's is JSON, the keys in hex.
Format: MySQL `components/keyrings/common/json_data/json_reader.cc`, version 1.0.
"""

from __future__ import annotations

import json

from decoder.encryption.plugin_keyring import PREFIX, plugin_keys
from decoder.errors import MalformedError

REPLICATION_KEYS = "MySQLReplicationKey_"
"""How the ids of keys for logs begin; others are for tablespaces, and not ours to hold."""


def replication_keys(data: bytes) -> dict[str, bytes]:
    """The keys for logs in a keyring file, by id.

    Raises BinlogError where it is no such file; the message has nothing of the content.
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
        # Not chained: these errors hold the content.
        raise MalformedError("it is no keyring file of MySQL's") from None
