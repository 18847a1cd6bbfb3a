"""What conversions of a column's values are called, and what they depend on besides its types."""

from __future__ import annotations

from dataclasses import dataclass, field

from decoder import TypeOptions
from pipeline.catalog.ddl.lexer import SqlMode

CAST = "cast"
"""To the new Delta type, which loses nothing."""
ROUNDED = "rounded"
"""To the new Delta type, which rounds as the server does."""
ROUND = "round"
"""A decimal to an integer, halves away from zero."""
RINT = "rint"
"""A double to an integer, halves to the even one."""
RTRIM = "rtrim"
"""Trailing spaces go, as in every CHAR."""
CUT = "cut"
"""To n characters: in strict mode the server cuts nothing but spaces."""
PAD = "pad"
"""With zero bytes to n, as in every BINARY."""
FRACTION = "fraction"
"""To n digits after the second, halves up."""
TRUNCATE = "truncate"
"""To n digits after the second, the rest cut off (TIME_TRUNCATE_FRACTIONAL)."""
NUMBER = "number"
"""Text to an integer, halves away from zero: in strict mode the text is a number."""
INSTANT = "instant"
"""A DATETIME to a TIMESTAMP, in a session whose zone is n minutes before UTC's time."""
LOCAL = "local"
"""A TIMESTAMP to a DATETIME, in such a session."""
CLAMP = "clamp"
"""A number to a signed integer of n bits, the nearest that there is."""
CLAMP_UNSIGNED = "clamp_unsigned"
"""A number to an unsigned integer of n bits, the nearest that there is."""
NEAREST = "nearest"
"""A number to the new decimal, rounded, or the nearest that there is."""
FITTING = "fitting"
"""Text as it is, if the column takes it without loss: a JSON object after the colon has how many
`characters` fit, whether they must be `ascii`, and whether trailing spaces are `trimmed`."""
DIGITS = "digits"
"""A TIME as text, with zeros to n digits after the second."""
LABEL = "label"
"""Text to the label of an ENUM that is spelled so; the labels are a JSON array behind the colon."""
PRINTED = "printed"
"""A DATE or DATETIME to text, n characters of `YYYY-MM-DD hh:mm:ss.ffffff`: a zero date, which is
NULL in gold, is not known."""
PARSED = "parsed"
"""Text to a DATE or DATETIME, if it is written in full, in up to n characters of that."""

LOGICAL = "logical"
"""Text or bytes to a UUID, INET4, INET6 or VECTOR, whose name stands behind the colon: what is none
is not known."""
STORED = "stored"
"""A UUID, INET4 or INET6 to its bytes."""
MAPPED = "mapped"
"""An INET4 to the INET6 that stands for it."""
EXTENDED = "extended"
"""A VECTOR of n numbers, zeros behind those that it has."""

OF_MARIADB = (LOGICAL, STORED, MAPPED, EXTENDED)
"""Conversions of types that only MariaDB has, or has otherwise."""
VALUES_CHANGE = (
    *(ROUNDED, ROUND, RINT, RTRIM, CUT, PAD, FRACTION, TRUNCATE),
    *(NUMBER, INSTANT, LOCAL, LABEL, PRINTED, PARSED),
    *OF_MARIADB,
)
"""Conversions after which a value may not be what it was."""

MARIADB_TIME_ROUND_FRACTIONAL = 1 << 34
"""A bit of MariaDB's own in `sql_mode`."""
_STRICT = SqlMode.STRICT_TRANS_TABLES | SqlMode.STRICT_ALL_TABLES
_UNICODE = ("utf8mb4", "utf16", "utf16le", "utf32", "gb18030")


def cuts_fractions(sql_mode: int, *, mariadb: bool) -> bool:
    """Whether a session cuts digits after the second that do not fit, rather than round."""
    if mariadb:
        return not sql_mode & MARIADB_TIME_ROUND_FRACTIONAL
    return bool(sql_mode & SqlMode.TIME_TRUNCATE_FRACTIONAL)


class UnknownConversionError(ValueError):
    """What the server made of a value cannot be told for certain."""


@dataclass(frozen=True, slots=True)
class ConversionMode:
    """What a conversion depends on besides the two types.

    `ignore`: ALTER IGNORE; `charset`: the one that the new column names, if it does;
    `explicit_timestamps`: explicit_defaults_for_timestamp, if it is logged; `utc_offset`: of the
    session's time zone in minutes, if that is logged and always the same; `shown`: a table map has
    shown the old column, so that its collation is the server's.
    """

    sql_mode: int = 0
    options: TypeOptions = field(default_factory=TypeOptions)
    ignore: bool = False
    charset: str | None = None
    mariadb: bool = False
    explicit_timestamps: bool | None = None
    utc_offset: int | None = None
    shown: bool = False

    @property
    def strict(self) -> bool:
        """Whether the statement failed rather than change a value that does not fit."""
        return bool(self.sql_mode & _STRICT) and not self.ignore

    @property
    def truncates(self) -> bool:
        """Whether digits after the second are cut off; MariaDB rounds only if it is told to."""
        return cuts_fractions(self.sql_mode, mariadb=self.mariadb)

    def require_strict(self, what: str) -> None:
        """Raise `UnknownConversionError` in a session that changes values which do not fit."""
        if not self.strict:
            raise UnknownConversionError(f"{what}, and its session is not strict about values")

    def require_text_kept(self) -> None:
        """Raise `UnknownConversionError` where text may lose characters that its charset lacks."""
        if self.charset == "binary":
            raise UnknownConversionError("text becomes bytes")
        if self.charset not in _UNICODE:
            self.require_strict("it may be in another character set")
