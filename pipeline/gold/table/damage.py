"""Damage to a gold table itself, independent of its changes: only that table is held.

Somebody deleted it, wrote to it, restored it, or set a property that prevents changes, or its
files are missing. Damage seen in the table's Delta log is checked in every run
(`pipeline.gold.plan.table_inspection`), so that the table continues once it is as Binlake left it.
Damage seen in a read or write error is remembered until the table has another version, until
`binlake retry`, or until a full refresh of the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.errors import AnalysisException, PySparkException

from pipeline.errors import (
    BinlakeError,
    MissingRequirementError,
    SettingsError,
    sentence_of,
)
from pipeline.schema_history import TableName

_OF_ALL_TABLES = re.compile(
    "|".join(
        (
            "OutOfMemoryError|Java heap space|GC overhead limit|unable to create native thread",
            "No space left on device|[Qq]uota ?[Ee]xceeded|Too many open files",
            "Read-only file system|Input/output error|Stale file handle",
            r"(?:Connect|UnknownHost|NoRouteToHost|SocketTimeout|Socket|NoHttpResponse)Exception",
            r"ConnectTimeoutException|ConnectTimeout\b|SSLHandshakeException|Connection refused",
            "SlowDown|Service ?Unavailable|503 Slow|RequestTimeTooSkewed|StatusCode.UNAVAILABLE",
            "ExpiredToken|InvalidAccessKeyId|SignatureDoesNotMatch|NoAuthWithAWSException",
            "CredentialInitializationException|Unable to load credentials",
            "SparkContext has been shut ?down|SparkContext was shut down|stopped SparkContext",
            "ExecutorLostFailure|Job [0-9]+ cancelled|Could not connect to Java",
        )
    )
)
"""Found in errors that are not about one table: of the store, machine, driver or cluster."""
_LASTING = re.compile(
    r"\[DELTA_|FAILED_READ_FILE|File[A-Z]\w*Exception|NoSuchFile|PATH_NOT_FOUND"
    r"|InvariantViolation|UNRESOLVED_COLUMN|CAST_INVALID_INPUT"
)
"""Found in errors that recur for the table until it is fixed."""
REFUSED = re.compile("AccessDenied|Permission denied|PermissionError")
"""Found in access errors: access may be restored without a change to the table."""
_OF_SILVER = re.compile(r"/silver/\S+\.parquet")
"""Found in errors about silver's files, which rebuilding the gold table would not fix."""
_NEVER = -1
"""Not a version: the table is retried in the next run."""
_MESSAGES = {
    "DELTA_CANNOT_MODIFY_APPEND_ONLY": "its property delta.appendOnly prevents changes of rows"
}
_CONDITION = re.compile(
    r"\[(DELTA_[A-Z_]+|FAILED_READ_FILE[A-Z_.]*|(?:PATH|TABLE_OR_VIEW)_NOT_FOUND)[\w.]*\] [^\n]*"
)


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage to a gold table: the reason that it cannot be updated.

    `met`: seen in an error when the table was at `version` (None: unknown); otherwise in its Delta
    log, which every run checks. `final`: only a full refresh helps, since it is unknown how many of
    the table's changes were applied. `whole`, `lacked`: whether the table equalled the source's
    before, and if not, why.
    """

    reason: str
    met: bool = False
    version: int | None = None
    final: bool = False
    whole: bool = False
    lacked: str | None = None

    def lasts(self, version: int | None) -> bool:
        """Return True if the table, now at `version`, need not be retried."""
        return self.final or (self.met and self.version == version)

    @property
    def passes(self) -> bool:
        """True if the damage may be gone in the next run without any action."""
        return self.met and self.version == _NEVER

    def held(self, name: TableName) -> str:
        """Return why the table is held, and how to repair it."""
        undo = "" if self.final else "Undo that and run binlake retry, or rebuild"
        again = f"it from silver: binlake apply --full-refresh --table {name}"
        return f"{self.reason}. {undo or 'Rebuild'} {again}"


def gone(table: str) -> Damage:
    """Return the damage of a table that does not exist."""
    return Damage(f"its gold table {table} is gone (deleted, or renamed)")


def damage_in(error: Exception, table: str, version: int | None) -> Damage | None:
    """Return the damage that an error of reading or writing a table shows.

    None if the error is not about this table: it fails the run.
    """
    if isinstance(error, SettingsError | MissingRequirementError):
        return None
    if isinstance(error, BinlakeError):
        return None if error.retryable else Damage(error.reason.rstrip("."), True, version)
    if not (isinstance(error, PySparkException | OSError) or _is_of_java(error)):
        return None
    text = str(error)
    if _OF_ALL_TABLES.search(text) or (_OF_SILVER.search(text) and table not in text):
        return None
    lasting = isinstance(error, AnalysisException) or _LASTING.search(
        f"{type(error).__name__}: {text}"
    )
    reason = f"its gold table {table} cannot be read or written: {_delta_message(error, text)}"
    return Damage(reason, True, version if lasting else _NEVER)


def _is_of_java(error: Exception) -> bool:
    """Return True if Java raised it; Py4J is not imported, as Spark Connect clients have none."""
    return any(kind.__module__ == "py4j.protocol" for kind in type(error).__mro__)


def _delta_message(error: Exception, text: str) -> str:
    """Return Delta's message without Java's stack trace."""
    found = _CONDITION.search(text)
    if found is None:
        return sentence_of(error).rstrip(".")
    own = _MESSAGES.get(found[1])
    return own or " ".join(found[0].split()).rstrip(".: ")
