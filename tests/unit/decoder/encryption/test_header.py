"""The header of an encrypted log: as a server wrote it, and damaged."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from decoder import BinlogError
from decoder.encryption.header import HEADER_LENGTH, EncryptionHeader
from decoder.errors import EncryptedError, MalformedError, TruncatedError, UnsupportedError
from tests.support.decoder.encrypted_log import HEADER, LOG

HEAD = LOG[:HEADER_LENGTH]
KEY_ID = HEADER.key_id.encode()
PASSWORD_FIELD = 5 + 2 + len(KEY_ID)
IV_FIELD = PASSWORD_FIELD + 1 + 32
PADDING = IV_FIELD + 1 + 16


def test_parses_a_header_written_by_a_server() -> None:
    assert HEADER.version == 1
    assert re.fullmatch(r"MySQLReplicationKey_[0-9a-f-]{36}_\d+", HEADER.key_id)
    assert HEADER.encrypted_password == LOG[PASSWORD_FIELD + 1 : IV_FIELD]
    assert HEADER.iv == LOG[IV_FIELD + 1 : PADDING]
    assert not any(LOG[PADDING:HEADER_LENGTH])


def replaced(offset: int, content: bytes) -> bytes:
    return HEAD[:offset] + content + HEAD[offset + len(content) :]


@pytest.mark.parametrize(
    ("head", "error", "position", "reason"),
    [
        (HEAD[:-1], TruncatedError, 0, "ends inside its encryption header"),
        (HEAD[:4], TruncatedError, 0, "ends inside its encryption header"),
        (replaced(0, b"\xfe"), MalformedError, 0, "does not start with fd 62 69 6e"),
        (replaced(4, b"\x02"), UnsupportedError, 4, "header version 2; only version 1"),
        (replaced(5, b"\x09"), MalformedError, 5, "a field of unknown type 9"),
        (replaced(PADDING, b"\xff"), MalformedError, PADDING, "a field of unknown type 255"),
        (replaced(5, bytes(507)), MalformedError, 0, "has no key_id"),
        (replaced(6, b"\0" + HEAD[PASSWORD_FIELD:]), MalformedError, 0, "has no key_id"),
        (replaced(PASSWORD_FIELD, bytes(100)), MalformedError, 0, "has no encrypted_password"),
        (replaced(IV_FIELD, bytes(17)), MalformedError, 0, "has no iv"),
        (replaced(7, b"\n"), MalformedError, 0, "key id in the encryption header is not printable"),
        (replaced(7, b"\xfc"), MalformedError, 0, "key id in the encryption header is not print"),
        (HEAD[:5] + b"\1\xff" + b"k" * 255 + b"\1\xff" + b"k" * 248, MalformedError, 262, "beyond"),
        (HEAD[:5] + (b"\1\x63" + b"k" * 99) * 5 + b"\1\1", MalformedError, 510, "beyond"),
        (HEAD[:5] + (b"\1\x63" + b"k" * 99) * 5 + b"\2k", MalformedError, 510, "beyond"),
        (
            HEAD[:5] + (b"\1\x63" + b"k" * 99) * 4 + b"\1\x64" + b"k" * 100 + b"\1",
            MalformedError,
            511,
            "the key_id extends beyond",
        ),
    ],
)
def test_malformed_headers_raise(
    head: bytes, error: type[BinlogError], position: int, reason: str
) -> None:
    with pytest.raises(error, match=reason) as caught:
        EncryptionHeader.parse(head)
    assert caught.value.position == position


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_key_of_the_wrong_size_raises(size: int) -> None:
    with pytest.raises(EncryptedError, match=f"{HEADER.key_id} has {size} bytes, not 32"):
        HEADER.password(bytes(size))


@given(
    st.lists(st.tuples(st.integers(4, 200), st.binary(min_size=1, max_size=40)), max_size=4),
    st.integers(0, HEADER_LENGTH),
)
def test_a_mutated_header_parses_or_raises(edits: list[tuple[int, bytes]], end: int) -> None:
    head = bytearray(HEAD)
    for offset, content in edits:
        head[offset : offset + len(content)] = content
    for header in (head, head[:end]):
        try:
            found = EncryptionHeader.parse(bytes(header))
        except BinlogError:
            continue
        assert (len(found.encrypted_password), len(found.iv)) == (32, 16)
