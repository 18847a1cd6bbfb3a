"""Text and binary columns: charsets, invalid bytes, long values and large blocks."""

from __future__ import annotations

import zlib

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st

from decoder.columns.cells import CellError
from decoder.columns.charsets import charset_of, decode
from decoder.columns.charsets.collations import COLLATIONS
from decoder.columns.charsets.single_byte import SINGLE_BYTE, single_byte
from decoder.constants import ColumnType as T
from decoder.errors import UnsupportedError
from decoder.model.definition import ColumnDefinition
from tests.support.decoder.cells import column, read, values
from tests.support.decoder.kernels import examples
from tests.support.zoo.type_zoo import CHARSET_SAMPLES

UTF8MB4 = 255
BINARY = 63
PYTHON_CODECS = {
    "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be", "ucs2": "utf-16-be",
    "gbk": "gbk", "gb2312": "gb2312", "euckr": "cp949", "koi8r": "koi8_r", "cp1250": "cp1250",
    "cp1251": "cp1251", "latin2": "iso8859_2", "latin5": "iso8859_9", "macroman": "mac_roman",
}  # fmt: skip


def varchar(collation: int | None) -> ColumnDefinition:
    return column(T.VARCHAR, length=400, length_bytes=2, collation=collation)


def collation_of(charset: str) -> int:
    return int(COLLATIONS[charset].split()[0].partition("-")[0])


@examples(100)
@given(st.lists(st.none() | st.text(max_size=70), max_size=40))
def test_valid_utf8_is_unchanged(texts: list[str | None]) -> None:
    found = read(varchar(UTF8MB4), [None if t is None else t.encode() for t in texts])
    assert found.array.to_pylist() == texts
    assert len(found.lossy) == 0


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=24), max_size=12))
@example([b"\xe2\x82", b"\xac"])  # a character split between two values: both are invalid
@example([b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x80\x80\x80", b"\xc0\x80", b"\xe0\x80\x80"])
@example([b"plain", b"\xff", b"\xf0\x9f\x98", b"ok\xc3\xa9"])
def test_invalid_utf8_is_replaced_as_in_python_and_lossy(stored: list[bytes]) -> None:
    found = read(varchar(UTF8MB4), stored)
    assert found.array.to_pylist() == [value.decode("utf-8", "replace") for value in stored]
    invalid = [i for i, value in enumerate(stored) if "�" in value.decode("utf-8", "replace")]
    real = [i for i in invalid if not is_utf8(stored[i])]
    assert found.lossy.tolist() == real


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 63, 64, 65, 300])
def test_copies_values_of_about_32_bytes(size: int) -> None:
    stored = [b"x" * size, None, "é".encode() * size, b"", b"y" * size]
    assert values(varchar(UTF8MB4), stored) == ["x" * size, None, "é" * size, "", "y" * size]
    assert values(varchar(BINARY), stored) == stored


def alphabet(charset: str) -> st.SearchStrategy[str]:
    """Return a charset's characters; `codec=` tries all of Unicode's, in a second each time."""
    codec = PYTHON_CODECS[charset]
    if charset in SINGLE_BYTE:
        return st.sampled_from(bytes(range(256)).decode(codec, "ignore"))
    if charset == "ucs2":
        return st.characters(max_codepoint=0xFF00, exclude_categories=("Cs",))
    of_unicode = codec.startswith("utf")
    return st.characters(codec=None if of_unicode else codec, exclude_categories=("Cs",))


@pytest.mark.parametrize("charset", sorted(PYTHON_CODECS))
@examples(40)
@given(data=st.data())
def test_decodes_text_encoded_by_python(charset: str, data: st.DataObject) -> None:
    codec = PYTHON_CODECS[charset]
    texts = data.draw(st.lists(st.text(alphabet(charset), max_size=20), max_size=9))
    found = read(varchar(collation_of(charset)), [text.encode(codec) for text in texts])
    assert found.array.to_pylist() == texts
    assert len(found.lossy) == 0


@pytest.mark.parametrize("charset", sorted(set(COLLATIONS) - {"binary"}))
@settings(max_examples=15)
@given(stored=st.lists(st.binary(max_size=16), max_size=9))
def test_any_bytes_decode_in_any_charset(charset: str, stored: list[bytes]) -> None:
    """The kernels agree with `charsets.decode`, and never raise."""
    collation = collation_of(charset)
    found = read(varchar(collation), stored)
    texts = found.array.to_pylist()
    if charset not in ("ucs2", "utf16", "utf16le", "utf32"):  # Python resynchronizes differently
        assert texts == [decode(value, collation) for value in stored]
    assert found.lossy.tolist() == [i for i, text in enumerate(texts) if "�" in text]


def test_every_charset_has_a_sample() -> None:
    assert set(CHARSET_SAMPLES) == set(COLLATIONS) - {"binary"}


def test_latin1_is_cp1252_without_undefined_bytes() -> None:
    assert values(varchar(8), [b"\x80\x81\xe9\xff"]) == ["€\x81éÿ"]


def test_lone_surrogates_and_odd_bytes_of_utf16_are_replaced() -> None:
    found = read(
        varchar(collation_of("utf16")), [b"\xd8\x3d\x00A", b"\x00A\x00", b"\xd8\x3d\xde\x00"]
    )
    assert found.array.to_pylist() == ["�A", "A�", "😀"]
    assert found.lossy.tolist() == [0, 1]


def test_binary_is_padded_to_its_width() -> None:
    definition = column(T.STRING, length=4, length_bytes=1, collation=BINARY)
    assert values(definition, [b"", b"ab", None, b"abcd"]) == [bytes(4), b"ab\0\0", None, b"abcd"]
    wide = column(T.STRING, length=255, length_bytes=1, collation=BINARY)
    assert values(wide, [b"a", b"b" * 255]) == [b"a" + bytes(254), b"b" * 255]
    with pytest.raises(CellError) as caught:
        values(definition, [b"abcd", b"abcde"])
    assert caught.value.row == 1


@pytest.mark.parametrize(
    ("kind", "arrow_type"),
    [(T.VARCHAR, pa.string()), (T.STRING, pa.string()), (T.BLOB, pa.binary())],
)
def test_without_collations_text_types_are_utf8_and_blobs_binary(
    kind: T, arrow_type: pa.DataType
) -> None:
    definition = column(kind, length=9, length_bytes=1)
    assert read(definition, [b"abc"]).array.type == arrow_type


def test_an_unknown_collation_is_unsupported() -> None:
    with pytest.raises(UnsupportedError, match="9999"):
        charset_of(9999)


def test_reads_a_full_block() -> None:
    texts = [None if i % 7 == 0 else f"row {i} " * (i % 11) for i in range(8192)]
    assert values(varchar(UTF8MB4), [t if t is None else t.encode() for t in texts]) == texts


def test_single_byte_charsets_are_mysqls_with_the_codecs_of_every_python() -> None:
    """The tables were compared with MySQL 9.7.4: see test_charsets_against_server."""
    tables = b"".join(single_byte(charset).tobytes() for charset in sorted(SINGLE_BYTE))
    assert zlib.crc32(tables) == 0x53AC12B
