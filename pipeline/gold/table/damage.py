"""What is wrong with a gold table itself, whatever its changes are: that table alone is held.

Somebody deleted it, wrote into it, restored it, set a property that keeps rows from being changed,
or its files are gone. What its own log tells is looked up in every run
(`pipeline.gold.plan.inspection`), so that a table goes on once it is as Binlake left it. What an
error of reading or writing it told is remembered, until the table has another version,
`binlake retry`, or a full refresh of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.errors import AnalysisException, PySparkException

from pipeline.catalog import TableName
from pipeline.errors import (
    BinlakeError,
    MissingRequirementError,
    SettingsError,
    sentence_of,
)

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
"""In errors that are not a table's own: the store, the machine, the driver or the cluster."""
_LASTING = re.compile(
    r"\[DELTA_|FAILED_READ_FILE|File[A-Z]\w*Exception|NoSuchFile|PATH_NOT_FOUND"
    r"|InvariantViolation|UNRESOLVED_COLUMN|CAST_INVALID_INPUT"
)
"""In errors that the same table gives until somebody does something about it."""
REFUSED = re.compile("AccessDenied|Permission denied|PermissionError")
"""In errors of who may not read or write: access may come back by itself."""
_OF_SILVER = re.compile(r"/silver/\S+\.parquet")
"""In errors about the changes, from which no gold table can be made again."""
_NEVER = -1
"""No version: the table is tried again in the next run."""
_MESSAGES = {
    "DELTA_CANNOT_MODIFY_APPEND_ONLY": "its property delta.appendOnly keeps rows from being changed"
}
_CONDITION = re.compile(
    r"\[(DELTA_[A-Z_]+|FAILED_READ_FILE[A-Z_.]*|(?:PATH|TABLE_OR_VIEW)_NOT_FOUND)[\w.]*\] [^\n]*"
)


@dataclass(frozen=True, slots=True)
class Damage:
    """Why a gold table cannot be gone on with.

    `met`: an error told it, when the table was at `version` (None: not known). Else its log does,
    which is asked in every run. `final`: only a full refresh helps, since it is not known how much
    of the table's changes was applied. `whole`, `lacked`: whether the table equalled the source's
    before, and why not.
    """

    reason: str
    met: bool = False
    version: int | None = None
    final: bool = False
    whole: bool = False
    lacked: str | None = None

    def lasts(self, version: int | None) -> bool:
        """Whether the table, which is at that version now, need not be tried again."""
        return self.final or (self.met and self.version == version)

    @property
    def passes(self) -> bool:
        """Whether the next run may find the table well without anybody's doing."""
        return self.met and self.version == _NEVER

    def held(self, name: TableName) -> str:
        """Why the table is held, with the way back."""
        undo = "" if self.final else "Undo that and run binlake retry, or make"
        again = f"it again from silver: binlake apply --full-refresh --table {name}"
        return f"{self.reason}. {undo or 'Make'} {again}"


def gone(table: str) -> Damage:
    """The damage of a table that is not there."""
    return Damage(f"its gold table {table} is gone (deleted, or renamed)")


def met_in(error: Exception, table: str, version: int | None) -> Damage | None:
    """The damage of a table that reading or writing it ended in; None where the error is not the
    table's: it ends the run."""
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
    reason = f"its gold table {table} cannot be read or written: {_said(error, text)}"
    return Damage(reason, True, version if lasting else _NEVER)


def _is_of_java(error: Exception) -> bool:
    """Whether Java raised it: a client of Spark Connect has no Py4J whose class to name here."""
    return any(kind.__module__ == "py4j.protocol" for kind in type(error).__mro__)


def _said(error: Exception, text: str) -> str:
    """What Delta says, without Java's stack trace."""
    found = _CONDITION.search(text)
    if found is None:
        return sentence_of(error).rstrip(".")
    own = _MESSAGES.get(found[1])
    return own or " ".join(found[0].split()).rstrip(".: ")
