"""MySQL's charsets: the charset of a collation id, and the decoding of its bytes.

`decode` is for the rare text in events (labels, statements); the kernels of `decoder.columns.text`
decode whole columns with the same tables.
"""

from __future__ import annotations

from functools import cache

from decoder.columns.charsets.collations import COLLATIONS
from decoder.columns.charsets.multi_byte import (
    DEVIATIONS,
    EUC_TRIPLE,
    GB18030_BMP,
    GB18030_SUPPLEMENTARY,
    INVALID,
    LEAD,
    MultiByte,
    gb18030_number,
    multi_byte,
)
from decoder.columns.charsets.single_byte import SINGLE_BYTE, single_byte
from decoder.errors import UnsupportedError

__all__ = [
    "COLLATIONS",
    "REPLACEMENT",
    "characters",
    "charset_of",
    "code_points",
    "decode",
    "is_multi_byte",
    "is_single_byte",
    "multi_byte",
    "single_byte",
]

REPLACEMENT = "�"
_CODECS = {
    "utf8mb4": "utf-8",
    "utf8mb3": "utf-8",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
}


@cache
def _charsets() -> dict[int, str]:
    charsets: dict[int, str] = {}
    for charset, ranges in COLLATIONS.items():
        for ids in ranges.split():
            first, _, last = ids.partition("-")
            charsets.update(dict.fromkeys(range(int(first), int(last or first) + 1), charset))
    return charsets


def charset_of(collation: int) -> str:
    """Return the name of a collation's charset; UnsupportedError for an unknown id."""
    try:
        return _charsets()[collation]
    except KeyError:
        raise UnsupportedError(f"unknown collation id {collation}") from None


def is_single_byte(charset: str) -> bool:
    """Return True if `single_byte` has a table for the charset."""
    return charset in SINGLE_BYTE


def is_multi_byte(charset: str) -> bool:
    """Return True if `multi_byte` has tables for the charset."""
    return charset in DEVIATIONS


def decode(data: bytes, collation: int | None) -> str:
    """Decode text in a collation's charset; bytes that are not a character become U+FFFD.

    Without a collation, and for binary, the bytes are decoded as UTF-8.
    """
    charset = "utf8mb4" if collation is None else charset_of(collation)
    if is_multi_byte(charset):
        return _decode_multi_byte(data, multi_byte(charset))
    if is_single_byte(charset):
        return "".join(map(characters(charset).__getitem__, data))
    return data.decode(_CODECS.get(charset, "utf-8"), "replace")


@cache
def code_points(charset: str) -> frozenset[int]:
    """Return the code points of a charset other than Unicode's; none of an unknown one."""
    if is_single_byte(charset):
        return frozenset(map(int, single_byte(charset))) - {-1}
    if not is_multi_byte(charset):
        return frozenset()
    tables = multi_byte(charset)
    parts = (tables.single, tables.double, tables.triple)
    return frozenset(int(point) for part in parts for point in part.ravel() if point >= 0)


@cache
def characters(charset: str) -> tuple[str, ...]:
    """Return the character of each byte in a charset of single bytes."""
    points = single_byte(charset).tolist()
    return tuple(chr(point) if point >= 0 else REPLACEMENT for point in points)


def _decode_multi_byte(data: bytes, tables: MultiByte) -> str:
    text = []
    at = 0
    while at < len(data):
        point, size = _character(data[at : at + 4], tables)
        text.append(chr(point) if point >= 0 else REPLACEMENT)
        at += size
    return "".join(text)


def _character(head: bytes, tables: MultiByte) -> tuple[int, int]:
    """Return the code point (or INVALID) and size of the character at the start of `head`."""
    point = int(tables.single[head[0]])
    if point != LEAD:
        return point, 1
    if len(tables.quad) and len(head) > 1 and 0x30 <= head[1] <= 0x39:
        point = _gb18030_point(head, tables)
        return point, 4 if point >= 0 else 1
    if head[0] == EUC_TRIPLE and len(tables.triple):
        if len(head) < 3 or head[1] < 0x80 or head[2] < 0x80:
            return INVALID, 1
        point = int(tables.triple[(head[1] & 0x7F) << 7 | head[2] & 0x7F])
        return point, 3 if point >= 0 else 1
    if len(head) < 2 or (point := int(tables.double[(head[0] - 0x80) << 8 | head[1]])) < 0:
        return INVALID, 1
    return point, 2


def _gb18030_point(head: bytes, tables: MultiByte) -> int:
    if len(head) < 4 or not (0x81 <= head[2] <= 0xFE and 0x30 <= head[3] <= 0x39):
        return INVALID
    linear = gb18030_number(head)
    if linear < GB18030_BMP:
        return int(tables.quad[linear])
    point = linear - GB18030_SUPPLEMENTARY + 0x10000
    return point if 0x10000 <= point <= 0x10FFFF else INVALID
