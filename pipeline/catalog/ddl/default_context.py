"""What a DEFAULT's value depends on besides its text: the session that declared it, the server."""

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
    """The session and the server of a statement that declares a column.

    `executed_at` is when the statement began; `time_zone` the session's, with the server's own
    (SYSTEM) already put in. `explicit_timestamps` is its explicit_defaults_for_timestamp; None:
    not logged. `client_charset` is that of the statement's bytes, `connection_charset` that of its
    strings; text of dumps, which log neither, is UTF-8.
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
        """The statement's time, for NOW() and for times of day in the session's zone."""
        return Instant(self.executed_at, self.time_zone)

    @property
    def dates(self) -> DateRules:
        """How dates and times are read and rounded."""
        return DateRules(
            cuts=cuts_fractions(self.sql_mode, mariadb=self.mariadb),
            mariadb=self.mariadb,
            impossible=bool(self.sql_mode & SqlMode.ALLOW_INVALID_DATES),
            zero_parts=not self.sql_mode & SqlMode.NO_ZERO_IN_DATE,
            keep_zero=self.options.zero_dates == "string",
        )

    @property
    def strict(self) -> bool:
        """Whether the statement failed rather than change a value that does not fit."""
        return bool(self.sql_mode & (SqlMode.STRICT_TRANS_TABLES | SqlMode.STRICT_ALL_TABLES))

    @property
    def empty_is_null(self) -> bool:
        """Whether '' stands for NULL: a mode of MariaDB's, whose bit is another mode's of MySQL."""
        return self.mariadb and bool(self.sql_mode & SqlMode.EMPTY_STRING_IS_NULL)
