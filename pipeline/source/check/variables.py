"""Checks of the server's variables for its log: whether it is written, how, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.settings import Settings
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import (
    NOTHING,
    Change,
    Finding,
    Verdict,
    set_at_start,
    set_variable,
)

DAY = 86400
LEAST_RETENTION = 3 * DAY
RETENTION = 7 * DAY
"""Seconds: what is advised to be kept at least, and what is set then."""

OWN_ID = "Instead of 1 take an id that no other server has: with the same one replication breaks."
RECONNECT = "sessions that are connected keep what they had until they connect again"


@dataclass(frozen=True, slots=True)
class OneOf:
    """A variable that has one good value; others are `otherwise`. Not there: nothing to say."""

    variable: str
    good: str
    otherwise: Verdict
    why: str

    def __call__(self, facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
        """The check."""
        del settings
        if (has := facts.variables.get(self.variable)) is None:
            return
        if has.upper() == self.good:
            yield Finding(self.variable, has or "''", "fit", self.why)
            return
        change = set_variable(facts, self.variable, self.good or "''")
        yield Finding(self.variable, has or "''", self.otherwise, self.why, change)


VALUES = (
    OneOf(
        "binlog_format",
        "ROW",
        "unfit",
        "A change that is logged as a statement cannot be applied: it holds the tables that it"
        f" names ({RECONNECT}).",
    ),
    OneOf(
        "binlog_row_value_options",
        "",
        "advice",
        "With PARTIAL_JSON updates have only what changed of a JSON document; it is applied, but a"
        " table whose rows in gold are not as the source had them is held.",
    ),
    OneOf(
        "binlog_checksum",
        "CRC32",
        "advice",
        "Without checksums nobody notices a byte of the log that has changed on its way.",
    ),
    OneOf(
        "gtid_strict_mode",
        "ON",
        "advice",
        "Without it a replica may log GTIDs out of order, and then what a lake has already cannot"
        " be told from what it lacks.",
    ),
)


def log_bin(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Whether anything is logged."""
    del settings
    why = "Changes are read from the binary log: without one there is nothing to replicate."
    if facts.is_on("log_bin"):
        yield Finding("log_bin", "ON", "fit", why)
        return
    lines = ["log_bin = binlog"]
    if facts.variables.get("server_id", "0") == "0":
        lines.append("server_id = 1")
        why = f"{why} {OWN_ID}"
    yield Finding("log_bin", "OFF", "unfit", why, set_at_start(*lines))


def storage_engine(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Whether the log is files of events: MariaDB 12.3 can keep it in pages of InnoDB."""
    del settings
    if (has := facts.variables.get("binlog_storage_engine")) is None:
        return
    if not has:
        why = "The log is written to files of events, which is what is read."
        yield Finding("binlog_storage_engine", "''", "fit", why)
        return
    why = (
        "The log is kept in pages of InnoDB (files named .ibb), which no reader of binary logs can"
        " read, nor is it sent by file and position. Without the variable the server begins a log"
        " of files, in which nothing of the old log is: take the initial snapshot (binlake seed)"
        " after the restart. Or read the log of a replica that writes files (log_slave_updates)."
    )
    change = set_at_start("binlog_storage_engine =")
    yield Finding("binlog_storage_engine", has, "unfit", why, change)


def server_id(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """A server with id 0 has no replicas."""
    del settings
    has = facts.variables.get("server_id", "0")
    why = "A server whose id is 0 sends its log to nobody."
    if has == "0":
        change = set_variable(facts, "server_id", "1")
        yield Finding("server_id", has, "unfit", f"{why} {OWN_ID}", change)
    else:
        yield Finding("server_id", has, "fit", why)


def row_image(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """MariaDB's partial images lose what no reader can find again, MySQL's do not."""
    del settings
    if (has := facts.variables.get("binlog_row_image")) is None:
        return
    good = "Whole rows are logged, before and after each change."
    if has.upper() == "FULL":
        yield Finding("binlog_row_image", has, "fit", good)
        return
    lossy = facts.version.is_mariadb and has.upper() in {"MINIMAL", "NOBLOB"}
    bad = (
        "MariaDB logs a REPLACE as an update without the columns that it leaves out, which cannot"
        " be told from one"
        if lossy
        else "What rows leave out is found from other rows and the log's DEFAULTs; where those are"
        " not known, the table is held"
    )
    change = set_variable(facts, "binlog_row_image", "FULL")
    verdict: Verdict = "unfit" if lossy else "advice"
    yield Finding("binlog_row_image", has, verdict, f"{bad} ({RECONNECT}).", change)


def row_metadata(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Whether the log tells the names of columns by itself, or else conf does."""
    has = facts.variables.get("binlog_row_metadata")
    if has is not None and has.upper() == "FULL":
        why = "The log tells the names and types of columns by itself."
        yield Finding("binlog_row_metadata", has, "fit", why)
        return
    lines: tuple[str, ...] = ()
    if facts.version.is_mariadb or not facts.version.since(mysql=(8, 0), mariadb=None):
        lines = _charset(facts, settings)
    setting = set_variable(facts, "binlog_row_metadata", "FULL") if has is not None else NOTHING
    why = (
        "The log does not name columns: those of a table that was created before the log begins are"
        " read from the server by binlake capture and binlake seed, if the user may SELECT it, or"
        " are in definitions in conf (mysqldump --no-data --databases …); else it is held"
    )
    told = not lines and has is None
    yield Finding(
        "binlog_row_metadata",
        has or "not in this version",
        "fit" if told else "advice",
        f"{why}, as they do now." if told else f"{why}.",
        Change(setting.statements, setting.option_file, conf=lines),
    )


def _charset(facts: ServerFacts, settings: Settings) -> tuple[str, ...]:
    """The line of conf without which the charset of text is not known."""
    charset = facts.variables.get("character_set_server")
    if charset is None or settings.default_charset is not None:
        return ()
    return (f"default_charset: {charset}",)


GTID_MODES = ("OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")
"""MySQL's: a change goes from one to the next."""


_GTIDS_ONLINE = (5, 7, 6)
"""The first MySQL that changes them while it runs."""
_GTIDS_AT_START = (
    "gtid_mode = ON",
    "enforce_gtid_consistency = ON",
    "log_slave_updates = ON",
)
"""What one before needs for them: MySQL 5.6 manual, "Setting Up Replication Using GTIDs"."""


def gtid_mode(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """MySQL's GTIDs; MariaDB has them always."""
    del settings
    if (has := facts.variables.get("gtid_mode")) is None or facts.version.is_mariadb:
        return
    why = (
        "Without GTIDs the log of another server (a failover, a replica) cannot follow in the same"
        " source, and gaps are only told by the names of files"
    )
    mode = has.upper()
    if mode == "ON":
        yield Finding("gtid_mode", has, "fit", "Every transaction has a GTID.")
        return
    if not facts.version.since(mysql=_GTIDS_ONLINE, mariadb=None):
        yield Finding("gtid_mode", has, "advice", f"{why}.", set_at_start(*_GTIDS_AT_START))
        return
    steps = [("enforce_gtid_consistency", "ON")]
    steps += [("gtid_mode", step) for step in GTID_MODES[_place(mode) + 1 :]]
    changes = [set_variable(facts, *step) for step in steps]
    statements = tuple(statement for change in changes for statement in change.statements)
    lasting = (
        () if not changes[0].option_file else ("enforce_gtid_consistency = ON", "gtid_mode = ON")
    )
    waits = "; before the last step Ongoing_anonymous_transaction_count must be 0 on all servers"
    yield Finding("gtid_mode", has, "advice", f"{why}{waits}.", Change(statements, lasting))


def _place(mode: str) -> int:
    return GTID_MODES.index(mode) if mode in GTID_MODES else 0


def retention(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """How long the server keeps its logs."""
    del settings
    why = "A log that the server removes before it was read is lost; days without a run happen"
    variable, seconds = _kept(facts)
    if variable is None:
        return
    limit = facts.variables.get("max_binlog_total_size", "0")
    if limit != "0":
        change = set_variable(facts, "max_binlog_total_size", "0")
        has = f"{limit} bytes in all"
        yield Finding("max_binlog_total_size", has, "advice", f"{why}.", change)
    has = "for ever" if not seconds else f"{seconds / DAY:g} days"
    if not seconds or seconds >= LEAST_RETENTION:
        yield Finding(variable, has, "fit", f"{why}.")
        return
    yield Finding(variable, has, "advice", f"{why}.", _keep_longer(facts, variable))


def _kept(facts: ServerFacts) -> tuple[str | None, float]:
    """The variable that counts, and how many seconds it says; 0: for ever."""
    has = facts.variables
    days = float(has.get("expire_logs_days", "0"))
    if "binlog_expire_logs_seconds" not in has:
        return ("expire_logs_days" if "expire_logs_days" in has else None), days * DAY
    purges = has.get("binlog_expire_logs_auto_purge", "ON").upper() in {"ON", "1"}
    seconds = float(has["binlog_expire_logs_seconds"]) or days * DAY
    return "binlog_expire_logs_seconds", seconds if purges else 0


def _keep_longer(facts: ServerFacts, variable: str) -> Change:
    in_days = variable == "expire_logs_days"
    change = set_variable(facts, variable, str(RETENTION // DAY if in_days else RETENTION))
    days = facts.variables.get("expire_logs_days", "0")
    if in_days or facts.version.is_mariadb or float(days) == 0:
        return change
    # MySQL 8.0 takes seconds only where no days are set.
    return Change(("SET PERSIST expire_logs_days = 0", *change.statements))


def compression(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Compressed logs are read as others."""
    del settings
    for variable in ("binlog_transaction_compression", "log_bin_compress"):
        if (has := facts.variables.get(variable)) is not None:
            yield Finding(variable, has, "fit", "Compressed transactions are read as others are.")


def encryption(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """MySQL's encrypted files need a key in conf; MariaDB's are not read."""
    if (has := facts.variables.get("binlog_encryption")) is not None:
        known = settings.encryption.keyring is not None or bool(settings.encryption.passwords)
        asks = facts.is_on("binlog_encryption") and not known
        why = "The server's files are encrypted or not; conf has, or needs, what opens them"
        conf = ("encryption: {keyring: path of component_keyring_file's file}",) if asks else ()
        verdict: Verdict = "advice" if asks else "fit"
        yield Finding("binlog_encryption", has, verdict, f"{why}.", Change(conf=conf))
    if (has := facts.variables.get("encrypt_binlog")) is not None:
        why = "Files that MariaDB encrypted are refused: their keys are the server's own."
        if facts.is_on("encrypt_binlog"):
            change = set_at_start("encrypt_binlog = OFF")
            yield Finding("encrypt_binlog", has, "unfit", why, change)
        else:
            yield Finding("encrypt_binlog", has, "fit", why)
