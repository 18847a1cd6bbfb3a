"""Keyring files of the older plugin, built as its source does: no test server has the plugin."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given, strategies as st

from decoder import BinlogError, Keys
from decoder.encryption.keyring import plugin_keys, replication_keys
from tests.support.decoder.encrypted_log import HEADER, KEYS, LOG, PLAIN

TEXT = b"*305=Ljt0*!@$Hnm(*-9-w;:"


def stored(key_id: str, value: bytes) -> bytes:
    obscured = bytes(byte ^ TEXT[k % len(TEXT)] for k, byte in enumerate(value))
    fields = (key_id.encode(), b"AES", b"", obscured)
    size = 40 + sum(map(len, fields))
    padding = -size % 8
    lengths = struct.pack("<5Q", size + padding, *map(len, fields))
    return lengths + b"".join(fields) + bytes(padding)


def keyring(*keys: bytes, version: bytes = b"2.0") -> bytes:
    content = b"Keyring file version:" + version + b"".join(keys)
    digest = hashlib.sha256(content).digest() if version == b"2.0" else b""
    return content + b"EOF" + digest


INNODB = stored("INNODBKey-1-1", bytes(range(32)))
OURS = stored(HEADER.key_id, KEYS.keyring[HEADER.key_id])


@pytest.mark.parametrize("version", [b"1.0", b"2.0"])
def test_its_keys_decrypt_logs(version: bytes) -> None:
    content = keyring(INNODB, OURS, version=version)
    assert set(plugin_keys(content)) == {"INNODBKey-1-1", HEADER.key_id}
    assert set(replication_keys(content)) == {HEADER.key_id}
    assert Keys.from_keyring(content).decrypted(LOG) == PLAIN


def test_an_empty_keyring_has_no_keys() -> None:
    assert replication_keys(keyring()) == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (keyring(OURS, version=b"3.0"), "a version other than 1.0 and 2.0"),
        (keyring(OURS)[:-1], "is truncated"),
        (b"Keyring file version:1.0", "is truncated"),
        (keyring(OURS[:39]), "a truncated key"),
        (keyring(bytes(40)), "size does not match its fields"),
        (keyring(OURS[:-8]), "size does not match its fields"),
    ],
)
def test_a_damaged_keyring_raises(content: bytes, reason: str) -> None:
    with pytest.raises(BinlogError, match=reason):
        replication_keys(content)


@given(st.integers(21, len(keyring(INNODB, OURS))), st.binary(min_size=1, max_size=8))
def test_a_mutated_keyring_parses_or_raises(offset: int, content: bytes) -> None:
    sound = keyring(INNODB, OURS)
    try:
        found = plugin_keys(sound[:offset] + content + sound[offset + len(content) :])
    except BinlogError:
        return
    assert all(isinstance(value, bytes) for value in found.values())
