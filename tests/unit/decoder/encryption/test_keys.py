"""Opening a server's log with the right key, a wrong one, and none."""

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


def seen(data: Any, keys: Keys = NO_KEYS) -> tuple[list[Any], list[Any]]:
    """Events and rows that the library gives."""
    rows = [row for c in decoder.read(data, file=FILE, keys=keys) for row in c.batch.to_pylist()]
    return list(decoder.events(data, file=FILE, keys=keys)), rows


@pytest.mark.parametrize(
    "keys", [KEYS, Keys(passwords={"binlog.000001": PASSWORD})], ids=["keyring", "password"]
)
def test_an_encrypted_log_is_read_like_what_the_server_sends(keys: Keys) -> None:
    assert keys.decrypted(LOG, file=FILE) == PLAIN
    assert seen(LOG, keys) == seen(PLAIN)
    assert len(seen(PLAIN)[1]) == 6


@pytest.mark.parametrize(
    "wrap",
    [bytearray, memoryview, pa.py_buffer, lambda data: np.frombuffer(data, np.uint8)],
)
def test_anything_with_a_buffer_is_decrypted(wrap: Any) -> None:
    assert KEYS.decrypted(wrap(LOG)) == PLAIN


def test_positions_are_those_that_the_server_wrote() -> None:
    for event in decoder.events(LOG, keys=KEYS):
        assert event.position + event.size == event.log_pos


def test_a_log_in_the_clear_needs_no_key() -> None:
    assert KEYS.decrypted(PLAIN) is PLAIN
    assert KEYS.unlock(PLAIN[:HEAD_LENGTH]) is None
    assert NO_KEYS.unlock(b"") is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (NO_KEYS, f"it is encrypted with the key {HEADER.key_id}, which was not given"),
        (
            Keys(keyring={"MySQLReplicationKey_other_1": WRONG}),
            f"it is encrypted with the key {HEADER.key_id}, which is not in the keyring",
        ),
        (
            Keys(keyring={HEADER.key_id: WRONG}),
            f"it is encrypted, and what was given as its key {HEADER.key_id} does not decrypt it",
        ),
        (
            Keys(KEYS.keyring, passwords={"binlog.000001": WRONG}),
            "it is encrypted, and what was given as its password does not decrypt it",
        ),
        (
            Keys(passwords={"binlog.000002": PASSWORD}),
            f"it is encrypted with the key {HEADER.key_id}, which was not given",
        ),
    ],
)
def test_without_the_right_key_the_file_and_the_key_are_named(keys: Keys, said: str) -> None:
    for read in (decoder.read, decoder.events):
        with pytest.raises(EncryptedError) as caught:
            list(read(LOG, file=FILE, keys=keys))
        assert str(caught.value) == f"{FILE}, position 0: {said}"


def test_a_file_that_the_server_is_just_beginning() -> None:
    for size in range(HEADER_LENGTH, HEAD_LENGTH):
        with pytest.raises(TruncatedError, match="ends behind its encryption header"):
            KEYS.unlock(LOG[:size])


def test_a_part_of_a_log_is_decrypted_as_far_as_it_goes() -> None:
    for size in range(HEAD_LENGTH, len(LOG), 97):
        assert KEYS.decrypted(LOG[:size]) == PLAIN[: size - HEADER_LENGTH]


@given(st.lists(st.tuples(st.integers(0, 180), st.binary(min_size=1, max_size=9)), max_size=3))
def test_behind_a_mutated_header_a_log_is_read_or_refused(edits: list[tuple[int, bytes]]) -> None:
    data = bytearray(LOG)
    for offset, content in edits:
        data[offset : offset + len(content)] = content
    try:
        assert seen(bytes(data), KEYS) == seen(PLAIN)
    except BinlogError:
        assert bytes(data) != LOG


def test_secrets_are_not_shown() -> None:
    assert repr(Keys(KEYS.keyring, {"binlog.000001": PASSWORD})) == "Keys()"
