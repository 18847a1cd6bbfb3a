"""Names of the conversions of a column's values, and the session that they depend on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from decoder import TypeOptions
from pipeline.schema_history.ddl.lexer import SqlMode

CAST = "cast"
"""To the new Delta type, without loss."""
ROUNDED = "rounded"
"""To the new Delta type, rounded as by the server."""
ROUND = "round"
"""Decimal to integer, half away from zero."""
RINT = "rint"
"""Double to integer, half to even."""
RTRIM = "rtrim"
"""Remove trailing spaces, as in every CHAR."""
SHORTEN = "shorten"
"""Truncate to n characters: in strict mode the server truncates only spaces."""
PAD = "pad"
"""Pad with zero bytes to length n, as in every BINARY."""
FRACTION = "fraction"
"""Round to n digits after the second, half up."""
TRUNCATE = "truncate"
"""Truncate to n digits after the second (TIME_TRUNCATE_FRACTIONAL)."""
NUMBER = "number"
"""Text to integer, half away from zero: in strict mode the text is a number."""
INSTANT = "instant"
"""DATETIME to TIMESTAMP, in a session with a UTC offset of n minutes."""
LOCAL = "local"
"""TIMESTAMP to DATETIME, in such a session."""
CLAMP = "clamp"
"""Number to a signed integer of n bits, clamped to its range."""
CLAMP_UNSIGNED = "clamp_unsigned"
"""Number to an unsigned integer of n bits, clamped to its range."""
NEAREST = "nearest"
"""Number to the new decimal, rounded and clamped to its range."""
FITTING = "fitting"
"""Text unchanged, if the column holds it without loss. A JSON object after the colon has how many
`characters` fit, whether they must be `ascii`, and whether trailing spaces are `trimmed`."""
DIGITS = "digits"
"""TIME as text, zero-padded to n digits after the second."""
LABEL = "label"
"""Text to the ENUM label of that spelling; the labels are a JSON array after the colon."""
PRINTED = "printed"
"""DATE or DATETIME to text, n characters of `YYYY-MM-DD hh:mm:ss.ffffff`; a zero date, which is
NULL in gold, is unknown."""
PARSED = "parsed"
"""Text to DATE or DATETIME, if written in full, in up to n characters of that form."""

LOGICAL = "logical"
"""Text or bytes to a UUID, INET4, INET6 or VECTOR (named after the colon), if valid in it."""
STORED = "stored"
"""UUID, INET4 or INET6 to its bytes."""
MAPPED = "mapped"
"""INET4 to the INET6 that it maps to."""
EXTENDED = "extended"
"""VECTOR zero-padded to n numbers."""

OF_MARIADB = (LOGICAL, STORED, MAPPED, EXTENDED)
"""Conversions of types that MySQL lacks or implements differently."""
VALUES_CHANGE = (
    *(ROUNDED, ROUND, RINT, RTRIM, SHORTEN, PAD, FRACTION, TRUNCATE),
    *(NUMBER, INSTANT, LOCAL, LABEL, PRINTED, PARSED),
    *OF_MARIADB,
)
"""Conversions that may change values."""

MARIADB_TIME_ROUND_FRACTIONAL = 1 << 34
"""A bit that only MariaDB has in `sql_mode`."""
_STRICT = SqlMode.STRICT_TRANS_TABLES | SqlMode.STRICT_ALL_TABLES
_UNICODE = ("utf8mb4", "utf16", "utf16le", "utf32", "gb18030")


class UnknownValueError(ValueError):
    """A value that the server computed or converted cannot be determined for certain."""


@dataclass(frozen=True, slots=True)
class ConversionMode:
    """The session and server of a statement that converts values: old ones, or a DEFAULT.

    `ignore`: ALTER IGNORE; `charset`: the one that the new column names, if any;
    `explicit_timestamps`: explicit_defaults_for_timestamp, if logged; `utc_offset`: of the
    session's time zone in minutes, if logged and constant; `shown`: a table map has shown the old
    column, so that its collation is the server's. `executed_at` is when the statement began;
    `time_zone` is the session's, with SYSTEM resolved to the server's. `client_charset` is that of
    the statement's bytes, `connection_charset` that of its strings; dumps record neither and are
    UTF-8.
    """

    sql_mode: int = 0
    options: TypeOptions = field(default_factory=TypeOptions)
    ignore: bool = False
    charset: str | None = None
    mariadb: bool = False
    explicit_timestamps: bool | None = None
    utc_offset: int | None = None
    shown: bool = False
    executed_at: datetime | None = None
    time_zone: str = "UTC"
    client_charset: str = "utf8mb4"
    connection_charset: str = "utf8mb4"

    @property
    def strict_session(self) -> bool:
        """True if the session's sql_mode is strict."""
        return bool(self.sql_mode & _STRICT)

    @property
    def strict(self) -> bool:
        """True if a value that does not fit makes the statement fail."""
        return self.strict_session and not self.ignore

    @property
    def truncates(self) -> bool:
        """True if excess digits after the second are truncated, as in MariaDB by default."""
        if self.mariadb:
            return not self.sql_mode & MARIADB_TIME_ROUND_FRACTIONAL
        return bool(self.sql_mode & SqlMode.TIME_TRUNCATE_FRACTIONAL)

    @property
    def empty_is_null(self) -> bool:
        """True if '' means NULL: a MariaDB sql_mode, whose bit is another mode in MySQL."""
        return self.mariadb and bool(self.sql_mode & SqlMode.EMPTY_STRING_IS_NULL)

    @property
    def dates_are_text(self) -> bool:
        """True if gold stores dates and times as text, with zero dates, and not as NULL."""
        return self.options.zero_dates == "string"

    @property
    def changes_expressions(self) -> bool:
        """True if expressions parse or evaluate differently under its sql_mode."""
        other = SqlMode.ORACLE | SqlMode.EMPTY_STRING_IS_NULL if self.mariadb else SqlMode(0)
        return bool(self.sql_mode & (other | SqlMode.HIGH_NOT_PRECEDENCE))

    def require_strict(self, what: str) -> None:
        """Raise `UnknownValueError` if the session changes values that do not fit."""
        if not self.strict:
            raise UnknownValueError(f"{what}, and the session's sql_mode is not strict")

    def require_text_kept(self) -> None:
        """Raise `UnknownValueError` if text may lose characters that the charset lacks."""
        if self.charset == "binary":
            raise UnknownValueError("text becomes bytes")
        if self.charset not in _UNICODE:
            self.require_strict("it may be in another character set")
