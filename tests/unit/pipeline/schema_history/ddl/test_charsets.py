"""Convert literals of DDL between text and bytes in MySQL's charsets."""

from __future__ import annotations

import pytest

from decoder.columns.charsets import is_single_byte
from decoder.columns.charsets.collations import COLLATIONS
from pipeline.schema_history.ddl.charsets import can_hold, collation_of, decoded, encoded, widest


@pytest.mark.parametrize(
    ("text", "charset", "raw"),
    [
        ("é", "utf8mb4", b"\xc3\xa9"),
        ("é€", "latin1", b"\xe9\x80"),
        ("é", "ucs2", b"\x00\xe9"),
        ("a", "gbk", b"a"),
        ("Щ", "cp1251", b"\xd9"),
        ("😀", "utf16", b"\xd8\x3d\xde\x00"),
    ],
)
def test_text_survives_encoding_and_decoding(text: str, charset: str, raw: bytes) -> None:
    assert encoded(text, charset) == raw
    assert decoded(raw, charset) == text


@pytest.mark.parametrize(
    ("text", "charset", "held"),
    [
        ("漢", "latin1", False),
        ("漢", "gbk", True),
        ("漢", "sjis", True),
        ("😀", "utf8mb3", False),
        ("😀", "utf8mb4", True),
        ("é", "ascii", False),
        ("a", "nothing", False),
    ],
)
def test_charsets_hold_their_own_characters(text: str, charset: str, *, held: bool) -> None:
    assert can_hold(text, charset) == held
    if not held:
        with pytest.raises(ValueError, match="characters that"):
            encoded(text, charset)


def test_invalid_bytes_are_an_error() -> None:
    assert decoded(b"\x41", "ucs2") == "A"  # padded on the left
    with pytest.raises(ValueError, match="invalid in utf8mb4"):
        decoded(b"\xe9", "utf8mb4")


@pytest.mark.parametrize("charset", COLLATIONS)
def test_the_longest_character_of_each_charset_is_known(charset: str) -> None:
    one_byte = charset == "binary" or is_single_byte(charset)
    assert one_byte == (widest(collation_of(charset)) == 1)
