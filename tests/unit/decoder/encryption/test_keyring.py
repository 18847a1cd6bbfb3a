"""Keyring files of component_keyring_file: written by a server, and malformed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from decoder import BinlogError
from decoder.encryption.keyring import replication_keys
from decoder.errors import MalformedError
from tests.support.decoder.encrypted_log import HEADER, KEYRING

SECRET = "00FF" * 16


def keyring(*elements: object) -> bytes:
    return json.dumps({"version": "1.0", "elements": elements}).encode()


def element(**fields: object) -> dict[str, object]:
    sound = {"user": "", "data_id": "MySQLReplicationKey_1", "data_type": "AES", "extension": []}
    return {**sound, "data": SECRET, **fields}


def test_a_server_keyring_contains_the_key_of_its_log() -> None:
    assert len(replication_keys(KEYRING)[HEADER.key_id]) == 32


def test_tablespace_keys_are_not_returned() -> None:
    found = replication_keys(keyring(element(), element(data_id="INNODBKey-1-1")))
    assert found == {"MySQLReplicationKey_1": bytes.fromhex(SECRET)}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no JSON",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{}",
        b'{"elements": {}}',
        b'{"elements": "MySQL"}',
        keyring("text"),
        keyring(element(data="xyz")),
        keyring(element(data=None)),
        keyring({"data_id": "MySQLReplicationKey_1"}),
        b"[" * 100_000,
    ],
)
def test_a_malformed_keyring_raises_without_showing_its_content(content: bytes) -> None:
    with pytest.raises(MalformedError) as caught:
        replication_keys(content)
    assert str(caught.value) == "it is not a MySQL keyring file"
    assert caught.value.__cause__ is None


@given(st.integers(0, len(KEYRING) - 1), st.binary(max_size=3))
def test_a_mutated_keyring_parses_or_raises(offset: int, content: bytes) -> None:
    changed = KEYRING[:offset] + content + KEYRING[offset + 1 :]
    try:
        found = replication_keys(changed)
    except BinlogError:
        return
    assert all(key_id.startswith("MySQLReplicationKey_") for key_id in found)
