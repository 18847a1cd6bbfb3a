"""Texts that a collation may consider equal: deliberately broader than any collation of MySQL.

MySQL compares both sides of a foreign key by their collation, and Binlake does not include the
weight tables of its 300 collations. Texts with the same `loose` form may be equal in MySQL; texts
with different ones differ in every collation, except for rare contractions.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby

from decoder.model.definition import ColumnDefinition

BINARY_COLLATIONS = frozenset({46, 47, 55, 61, 62, 63, 65, 83, 90, 309})
"""IDs of utf8mb4_bin, latin1_bin, utf16_bin, utf32_bin, utf16le_bin, binary, ascii_bin,
utf8mb3_bin, ucs2_bin, utf8mb4_0900_bin. All others are treated as not binary."""
_LETTERS = str.maketrans("øđðłħıŋœæþy[\\]{|}", "oddlhinoatuaaoaoa")
"""latin1_swedish_ci sorts Ü as Y, and Å, Ä, Ö as the ISO 646 characters at their code points."""
_PAIRS = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("th", "t"))
_LAST_OF_BMP = "\uffff"


def is_binary(column: ColumnDefinition) -> bool:
    """Return True if two texts of the column are equal only if their characters are."""
    return column.collation in BINARY_COLLATIONS


def loose(text: str) -> str:
    """Return a form that is the same for all texts that a collation may consider equal.

    Drops case, accents, width, kana type, trailing spaces and characters without weight; collapses
    repeated letters (`ß` equals `ss` and `s`); maps all characters outside the BMP to one, as
    utf8mb4_general_ci does.
    """
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    kept = (_base(c) for c in decomposed if unicodedata.category(c)[0] not in "MC")
    plain = "".join(kept).translate(_LETTERS)
    for pair, letter in _PAIRS:
        plain = plain.replace(pair, letter)
    return "".join(character for character, _ in groupby(plain)).rstrip()


def _base(character: str) -> str:
    if character > _LAST_OF_BMP:
        return "\ufffd"
    # Katakana to hiragana.
    return chr(ord(character) - 0x60) if "\u30a1" <= character <= "\u30f6" else character
