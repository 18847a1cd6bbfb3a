"""MariaDB's COMPRESSED columns: plain values, zlib streams and malformed bytes."""

from __future__ import annotations

import zlib

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from decoder.columns.cells import CellError
from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition
from tests.support.decoder.cells import column, read, values
from tests.support.decoder.kernels import examples

LATIN1, UTF8MB4, BINARY = 8, 45, 63


def varchar(collation: int | None = UTF8MB4, length: int = 5000) -> ColumnDefinition:
    kind = T.VARCHAR_COMPRESSED
    return column(kind, length=length + 1, length_bytes=2, collation=collation)


def blob(collation: int | None, length_bytes: int = 2) -> ColumnDefinition:
    return column(T.BLOB_COMPRESSED, length_bytes=length_bytes, collation=collation)


def plain(value: bytes) -> bytes:
    return b"\0" + value if value else b""


def compressed(value: bytes, *, header: bool = True, length: int | None = None) -> bytes:
    stream = zlib.compressobj(wbits=zlib.MAX_WBITS if header else -zlib.MAX_WBITS)
    declared = len(value) if length is None else length
    size = max(1, (declared.bit_length() + 7) // 8)
    first = 0x80 | (0 if header else 8) | size
    return bytes([first]) + declared.to_bytes(size, "big") + stream.compress(value) + stream.flush()


@examples(100)
@given(
    st.lists(
        st.none() | st.tuples(st.text(max_size=300), st.sampled_from(["plain", "zlib", "deflate"])),
        max_size=12,
    )
)
def test_reads_text_stored_with_any_method(rows: list[tuple[str, str] | None]) -> None:
    def stored(text: str, how: str) -> bytes:
        value = text.encode()
        if how == "plain" or not value:
            return plain(value)
        return compressed(value, header=how == "zlib")

    cells = [None if row is None else stored(*row) for row in rows]
    assert values(varchar(), cells) == [None if row is None else row[0] for row in rows]


def test_decompressed_text_is_decoded_from_its_charset() -> None:
    stored = [compressed("é".encode("latin-1") * 300), plain(b"\xe9"), b"", None]
    assert values(varchar(LATIN1), stored) == ["é" * 300, "é", "", None]
    assert values(blob(LATIN1), stored) == ["é" * 300, "é", "", None]
    assert values(blob(BINARY), stored) == [b"\xe9" * 300, b"\xe9", b"", None]
    assert values(varchar(BINARY), [plain(b"a\0")]) == [b"a\0"]
    lossy = read(varchar(UTF8MB4), [plain(b"ok"), compressed(b"\xe9" * 50)])
    assert lossy.lossy.tolist() == [1]


def test_arrow_types_are_those_of_uncompressed_columns() -> None:
    assert read(varchar(), [None]).array.type == pa.string()
    assert read(varchar(None), [None]).array.type == pa.string()
    assert read(blob(None), [None]).array.type == pa.binary()
    assert read(blob(UTF8MB4), []).array.type == pa.string()


def test_reads_a_value_of_several_megabytes() -> None:
    value = b"0123456789abcdef" * (1 << 18)
    assert values(blob(BINARY, 4), [compressed(value), plain(b"x")]) == [value, b"x"]


BROKEN = {
    "an unknown method": (b"\x93\x05abc", "method 9"),
    "longer than the column": (compressed(b"a" * 5001), "at most 5000"),
    "a length of seven bytes": (b"\x87" + bytes(7) + zlib.compress(b""), "at most 5000"),
    "no stream": (b"\x81\x05", "not the 5 bytes"),
    "not a stream": (b"\x81\x05abcdefg", "cannot be decompressed"),
    "truncated": (compressed(b"abc" * 99)[:-2], "not the 297 bytes"),
    "data after the stream": (compressed(b"abc" * 99) + b"x", "not the 297 bytes"),
    "more than declared": (compressed(b"abc" * 99, length=296), "not the 296 bytes"),
    "less than declared": (compressed(b"abc" * 99, length=298), "not the 298 bytes"),
    "a bomb": (compressed(bytes(1 << 22), length=9), "not the 9 bytes"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_malformed_values_raise(case: str) -> None:
    stored, reason = BROKEN[case]
    with pytest.raises(CellError, match=reason) as caught:
        values(varchar(), [plain(b"fine"), None, stored])
    assert caught.value.row == 2
