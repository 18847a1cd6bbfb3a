"""The context that a DEFAULT's value depends on: the declaring session and the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from decoder import TypeOptions
from pipeline.catalog.ddl.conversion_mode import cuts_fractions
from pipeline.catalog.ddl.lexer import SqlMode
from pipeline.catalog.ddl.temporal import DateRules, Instant

_UTF8 = "utf8mb4"


@dataclass(frozen=True, slots=True)
class DefaultContext:
    """The session and server of a statement that declares a column.

    `executed_at` is when the statement began; `time_zone` is the session's, with SYSTEM resolved to
    the server's. `explicit_timestamps` is its explicit_defaults_for_timestamp (None: not logged).
    `client_charset` is that of the statement's bytes, `connection_charset` that of its strings;
    dumps record neither and are UTF-8.
    """

    executed_at: datetime | None = None
    time_zone: str = "UTC"
    options: TypeOptions = field(default_factory=TypeOptions)
    explicit_timestamps: bool | None = None
    sql_mode: int = 0
    mariadb: bool = False
    client_charset: str = _UTF8
    connection_charset: str = _UTF8

    def instant(self) -> Instant:
        """Return the statement's time, for NOW() and for times of day in the session's zone."""
        return Instant(self.executed_at, self.time_zone)

    @property
    def dates(self) -> DateRules:
        """The rules for reading and rounding dates and times."""
        return DateRules(
            cuts=cuts_fractions(self.sql_mode, mariadb=self.mariadb),
            mariadb=self.mariadb,
            impossible=bool(self.sql_mode & SqlMode.ALLOW_INVALID_DATES),
            zero_parts=not self.sql_mode & SqlMode.NO_ZERO_IN_DATE,
            keep_zero=self.options.zero_dates == "string",
        )

    @property
    def strict(self) -> bool:
        """True if a value that does not fit makes the statement fail."""
        return bool(self.sql_mode & (SqlMode.STRICT_TRANS_TABLES | SqlMode.STRICT_ALL_TABLES))

    @property
    def empty_is_null(self) -> bool:
        """True if '' means NULL: a MariaDB sql_mode, whose bit is another mode in MySQL."""
        return self.mariadb and bool(self.sql_mode & SqlMode.EMPTY_STRING_IS_NULL)
