"""Decrypting a server's log with the right key, a wrong key, and none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import decoder
from decoder import BinlogError, Keys
from decoder.encryption.header import HEADER_LENGTH
from decoder.encryption.keys import HEAD_LENGTH, NO_KEYS
from decoder.errors import EncryptedError, TruncatedError
from tests.support.decoder.encrypted_log import HEADER, KEYS, LOG, PASSWORD, PLAIN

FILE = "logs/binlog.000001"
WRONG = bytes(32)


def decode(data: Any, keys: Keys = NO_KEYS) -> tuple[list[Any], list[Any]]:
    """Return the log's events and rows, decoded by the library."""
    rows = [row for c in decoder.read(data, file=FILE, keys=keys) for row in c.batch.to_pylist()]
    return list(decoder.events(data, file=FILE, keys=keys)), rows


@pytest.mark.parametrize(
    "keys", [KEYS, Keys(passwords={"binlog.000001": PASSWORD})], ids=["keyring", "password"]
)
def test_an_encrypted_log_decodes_like_the_plain_log(keys: Keys) -> None:
    assert keys.decrypted(LOG, file=FILE) == PLAIN
    assert decode(LOG, keys) == decode(PLAIN)
    assert len(decode(PLAIN)[1]) == 6


@pytest.mark.parametrize(
    "wrap",
    [bytearray, memoryview, pa.py_buffer, lambda data: np.frombuffer(data, np.uint8)],
)
def test_decrypts_any_buffer(wrap: Any) -> None:
    assert KEYS.decrypted(wrap(LOG)) == PLAIN


def test_positions_are_those_of_the_plain_log() -> None:
    for event in decoder.events(LOG, keys=KEYS):
        assert event.position + event.size == event.log_pos


def test_a_plain_log_needs_no_key() -> None:
    assert KEYS.decrypted(PLAIN) is PLAIN
    assert KEYS.unlock(PLAIN[:HEAD_LENGTH]) is None
    assert NO_KEYS.unlock(b"") is None


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (NO_KEYS, f"the file is encrypted with the key {HEADER.key_id}, which was not given"),
        (
            Keys(keyring={"MySQLReplicationKey_other_1": WRONG}),
            f"the file is encrypted with the key {HEADER.key_id}, which is not in the keyring",
        ),
        (
            Keys(keyring={HEADER.key_id: WRONG}),
            f"the file is encrypted, and the given key {HEADER.key_id} does not decrypt it",
        ),
        (
            Keys(KEYS.keyring, passwords={"binlog.000001": WRONG}),
            "the file is encrypted, and the given password does not decrypt it",
        ),
        (
            Keys(passwords={"binlog.000002": PASSWORD}),
            f"the file is encrypted with the key {HEADER.key_id}, which was not given",
        ),
    ],
)
def test_without_the_right_key_the_error_names_file_and_key(keys: Keys, reason: str) -> None:
    for read in (decoder.read, decoder.events):
        with pytest.raises(EncryptedError) as caught:
            list(read(LOG, file=FILE, keys=keys))
        assert str(caught.value) == f"{FILE}, position 0: {reason}"


def test_a_file_that_ends_right_after_its_header_raises() -> None:
    for size in range(HEADER_LENGTH, HEAD_LENGTH):
        with pytest.raises(TruncatedError, match="ends right after its encryption header"):
            KEYS.unlock(LOG[:size])


def test_a_truncated_log_is_decrypted_up_to_its_end() -> None:
    for size in range(HEAD_LENGTH, len(LOG), 97):
        assert KEYS.decrypted(LOG[:size]) == PLAIN[: size - HEADER_LENGTH]


@given(st.lists(st.tuples(st.integers(0, 180), st.binary(min_size=1, max_size=9)), max_size=3))
def test_a_log_with_a_mutated_header_decodes_or_raises(edits: list[tuple[int, bytes]]) -> None:
    data = bytearray(LOG)
    for offset, content in edits:
        data[offset : offset + len(content)] = content
    try:
        assert decode(bytes(data), KEYS) == decode(PLAIN)
    except BinlogError:
        assert bytes(data) != LOG


def test_repr_does_not_show_secrets() -> None:
    assert repr(Keys(KEYS.keyring, {"binlog.000001": PASSWORD})) == "Keys()"
