"""Character sets as DDL names them: a collation id for each, and the bytes per character."""

from __future__ import annotations

from decoder.columns.charsets import (
    COLLATIONS,
    REPLACEMENT,
    characters,
    charset_of as charset_of_id,
    code_points,
    decode,
    is_single_byte,
)

UNKNOWN_COLLATION = 255
"""utf8mb4_0900_ai_ci, for text whose collation only the server knows."""
_BYTES = {
    **dict.fromkeys(("utf8mb4", "utf16", "utf16le", "utf32", "gb18030"), 4),
    **dict.fromkeys(("utf8mb3", "ujis", "eucjpms"), 3),
    **dict.fromkeys(("ucs2", "big5", "cp932", "euckr", "gb2312", "gbk", "sjis"), 2),
}
"""Bytes of a charset's longest character, if more than one."""
_ALIASES = {"utf8": "utf8mb3"}
_UTF8 = ("utf8mb3", "utf8mb4")
_BASIC = ("utf8mb3", "ucs2")
"""Charsets of Unicode's first 65,536 characters."""
_UNICODE = {
    **dict.fromkeys(_UTF8, "utf-8"),
    **dict.fromkeys(("ucs2", "utf16"), "utf-16-be"),
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
}
"""Python's codecs."""
WIDE = {"ucs2": 2, "utf16": 2, "utf16le": 2, "utf32": 4}
"""Bytes of a charset's shortest character, if more than one."""


def collation_of(charset: str | None) -> int:
    """Return a collation id of a charset; `UNKNOWN_COLLATION` if unknown."""
    name = _ALIASES.get(charset or "", charset or "")
    ids = COLLATIONS.get(name, "").replace("-", " ").split()
    return int(ids[0]) if ids else UNKNOWN_COLLATION


def charset_in(collation: int | None) -> str:
    """Return a collation's charset; empty if only the server knows it."""
    return "" if collation in (None, UNKNOWN_COLLATION) else charset_of_id(collation or 0)


def charset_of(collation: str) -> str | None:
    """Return the charset prefix of a collation's name; MariaDB's `uca1400_…` may omit it."""
    charset = collation.lower().partition("_")[0]
    return charset if _ALIASES.get(charset, charset) in COLLATIONS else None


def widest(collation: int | None) -> int:
    """Return the bytes of the longest character of a collation's charset."""
    if collation is None:
        return max(_BYTES.values())
    return _BYTES.get(charset_of_id(collation), 1)


def alike(one: int, other: int) -> bool:
    """Return True if two collations have the same charset: `utf8` in DDL means either UTF-8."""
    charsets = charset_of_id(one), charset_of_id(other)
    return charsets[0] == charsets[1] or all(name in _UTF8 for name in charsets)


def can_hold(text: str, charset: str) -> bool:
    """Return True if a charset has all characters of a text."""
    if charset in _BASIC:
        return all(ord(char) < 0x10000 for char in text)
    if charset in _UNICODE or charset == "gb18030":
        return True
    return code_points(charset).issuperset(map(ord, text))


def encoded(text: str, charset: str) -> bytes:
    """Encode text in a charset. Raises ValueError for missing or unsupported characters."""
    if not can_hold(text, charset):
        raise ValueError(f"characters that {charset} lacks")
    if charset in _UNICODE:
        return text.encode(_UNICODE[charset])
    if is_single_byte(charset):
        bytes_of = {char: byte for byte, char in enumerate(characters(charset))}
        return bytes(bytes_of[char] for char in text)
    if text.isascii():
        return text.encode("ascii")
    raise ValueError(f"bytes of characters in {charset}")


def decoded(raw: bytes, charset: str) -> str:
    """Decode the bytes of a literal in a charset. Raises ValueError for invalid bytes."""
    unit = WIDE.get(charset, 1)
    filled = raw.rjust(-(-len(raw) // unit) * unit, b"\0")
    text = decode(filled, collation_of(charset))
    if REPLACEMENT in text:
        raise ValueError(f"bytes that are invalid in {charset}")
    return text
