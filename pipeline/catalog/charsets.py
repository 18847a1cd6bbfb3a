"""Character sets as DDL names them: a collation to stand for one, the bytes of its characters."""

from __future__ import annotations

from decoder.charsets import charset_of as charset_of_id
from decoder.charsets.collations import COLLATIONS

UNKNOWN_COLLATION = 255
"""utf8mb4_0900_ai_ci, for text whose collation only the server knows."""
_BYTES = {
    **dict.fromkeys(("utf8mb4", "utf16", "utf16le", "utf32", "gb18030"), 4),
    **dict.fromkeys(("utf8mb3", "ujis", "eucjpms"), 3),
    **dict.fromkeys(("ucs2", "big5", "cp932", "euckr", "gb2312", "gbk", "sjis"), 2),
}
"""Bytes of a charset's longest character; one for those that are not here."""
_ALIASES = {"utf8": "utf8mb3"}
_UTF8 = ("utf8mb3", "utf8mb4")


def collation_of(charset: str | None) -> int:
    """A collation id of a charset; `UNKNOWN_COLLATION` where it is not known."""
    name = _ALIASES.get(charset or "", charset or "")
    ids = COLLATIONS.get(name, "").replace("-", " ").split()
    return int(ids[0]) if ids else UNKNOWN_COLLATION


def charset_in(collation: int | None) -> str:
    """The charset of a collation's text; empty where only the server knows it."""
    return "" if collation in (None, UNKNOWN_COLLATION) else charset_of_id(collation or 0)


def charset_of(collation: str) -> str | None:
    """The charset that a collation's name begins with; MariaDB's `uca1400_…` may leave it out."""
    charset = collation.lower().partition("_")[0]
    return charset if _ALIASES.get(charset, charset) in COLLATIONS else None


def widest(collation: int | None) -> int:
    """Bytes of the longest character that text of a collation may have."""
    if collation is None:
        return max(_BYTES.values())
    return _BYTES.get(charset_of_id(collation), 1)


def alike(one: int, other: int) -> bool:
    """Whether text is the same under both collations: `utf8` in DDL means either UTF-8."""
    charsets = charset_of_id(one), charset_of_id(other)
    return charsets[0] == charsets[1] or all(name in _UTF8 for name in charsets)
