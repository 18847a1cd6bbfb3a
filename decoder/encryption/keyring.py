"""The file in which MySQL's component_keyring_file keeps its keys: JSON, the keys in hex.

Format: MySQL `components/keyrings/common/json_data/json_reader.cc`, version 1.0. The file of the
older keyring_file plugin is another one, which a server can migrate.
"""

from __future__ import annotations

import json
from typing import Any

from decoder.errors import MalformedError, UnsupportedError

REPLICATION_KEYS = "MySQLReplicationKey_"
"""How the ids of keys for logs begin; others are for tablespaces, and not ours to hold."""
_PLUGIN = b"Keyring file version:"


def replication_keys(data: bytes) -> dict[str, bytes]:
    """The keys for logs in a keyring file, by id.

    Raises MalformedError where it is no such file, UnsupportedError for the older plugin's. The
    message has nothing of the content.
    """
    if data.startswith(_PLUGIN):
        raise UnsupportedError(
            "it is a keyring file of the keyring_file plugin: migrate it to component_keyring_file"
            " (mysqld --keyring-migration-to-component)"
        )
    try:
        return {
            element["data_id"]: bytes.fromhex(element["data"])
            for element in _elements(data)
            if element["data_id"].startswith(REPLICATION_KEYS)
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Not chained: these errors hold the content.
        raise MalformedError("it is no keyring file of MySQL's") from None


def _elements(data: bytes) -> list[Any]:
    elements = json.loads(data)["elements"]
    if not isinstance(elements, list):
        raise TypeError
    return elements
