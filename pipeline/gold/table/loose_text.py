"""Which texts a collation may take for the same: wider than any of MySQL's, on purpose.

MySQL compares the two sides of a foreign key by their collation, and Binlake does not have the
tables of its 300 collations. Texts that are the same here may be the same there; those that are not
are other texts in every collation but for rare contractions.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby

from decoder.model.definition import ColumnDefinition

BINARY_COLLATIONS = frozenset({46, 47, 55, 61, 62, 63, 65, 83, 90, 309})
"""utf8mb4_bin, latin1_bin, utf16_bin, utf32_bin, utf16le_bin, binary, ascii_bin, utf8mb3_bin,
ucs2_bin, utf8mb4_0900_bin. Of others it is not known: then too much is taken for the same."""
_LETTERS = str.maketrans("øđðłħıŋœæþy[\\]{|}", "oddlhinoatuaaoaoa")
"""latin1_swedish_ci has Ü for Y and Å, Ä, Ö for the signs that stood for them in ISO 646."""
_PAIRS = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("th", "t"))
_LAST_OF_BMP = "\uffff"


def is_binary(column: ColumnDefinition) -> bool:
    """Whether the column's texts are the same only if they have the same characters."""
    return column.collation in BINARY_COLLATIONS


def loose(text: str) -> str:
    """The same for all texts that a collation may take for the same.

    Case, accents, width, kinds of kana, spaces at the end, and what has no weight are left out;
    doubled letters are one (`ß` is `ss` or `s`); all behind the basic plane are one character, as
    utf8mb4_general_ci has it.
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
