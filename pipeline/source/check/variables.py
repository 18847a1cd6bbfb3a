"""Checks of the server's variables: whether it logs, in which format, for how long.

Also of those that the log does not record, which the settings must match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from pipeline.settings import Settings
from pipeline.settings.time_zone import zone
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import (
    NOTHING,
    Finding,
    RemedySteps,
    Verdict,
    set_at_start,
    set_variable,
)

DAY = 86400
LEAST_RETENTION = 3 * DAY
RETENTION = 7 * DAY
"""Seconds: the recommended minimum, and the value that the remedy sets."""

OWN_ID = "Replace 1 by an id that no other server has: duplicate ids break replication."
RECONNECT = "connected sessions keep the previous value until they reconnect"


@dataclass(frozen=True, slots=True)
class OneOf:
    """Check of a variable with one good value; other values get the verdict `otherwise`.

    Yields nothing if the server does not have the variable.
    """

    variable: str
    good: str
    otherwise: Verdict
    why: str

    def __call__(self, facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
        """Run the check."""
        del settings
        if (has := facts.variables.get(self.variable)) is None:
            return
        if has.upper() == self.good:
            yield Finding(self.variable, has or "''", "ok", self.why)
            return
        change = set_variable(facts, self.variable, self.good or "''")
        yield Finding(self.variable, has or "''", self.otherwise, self.why, change)


VALUES = (
    OneOf(
        "binlog_format",
        "ROW",
        "problem",
        "A change that is logged as a statement cannot be applied; the tables that it names are"
        f" held ({RECONNECT}).",
    ),
    OneOf(
        "binlog_row_value_options",
        "",
        "advice",
        "With PARTIAL_JSON, updates log only the changed parts of JSON documents. They are applied,"
        " but a table whose rows in gold differ from the source is held.",
    ),
    OneOf(
        "binlog_checksum",
        "CRC32",
        "advice",
        "Without checksums, corruption of the log in transit is not detected.",
    ),
    OneOf(
        "gtid_strict_mode",
        "ON",
        "advice",
        "Without it a replica may log GTIDs out of order, and Binlake cannot determine which"
        " transactions a lake already has.",
    ),
)


def log_bin(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report whether the binary log is enabled."""
    del settings
    why = "Changes are read from the binary log: without it nothing can be replicated."
    if facts.is_on("log_bin"):
        yield Finding("log_bin", "ON", "ok", why)
        return
    lines = ["log_bin = binlog"]
    if facts.variables.get("server_id", "0") == "0":
        lines.append("server_id = 1")
        why = f"{why} {OWN_ID}"
    yield Finding("log_bin", "OFF", "problem", why, set_at_start(*lines))


def storage_engine(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report whether the log is in event files; MariaDB 12.3 can keep it in InnoDB pages."""
    del settings
    if (has := facts.variables.get("binlog_storage_engine")) is None:
        return
    if not has:
        why = "The log is written to event files, which Binlake reads."
        yield Finding("binlog_storage_engine", "''", "ok", why)
        return
    why = (
        "The log is kept in InnoDB pages (files named .ibb), which no binary log reader can read,"
        " and which the server does not send by file and position. Without the variable the server"
        " starts a new log of event files that contains nothing of the old one: take the initial"
        " snapshot (binlake seed) after the restart. Or read the log of a replica that writes event"
        " files (log_slave_updates)."
    )
    change = set_at_start("binlog_storage_engine =")
    yield Finding("binlog_storage_engine", has, "problem", why, change)


def server_id(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report whether the server has an id, without which it cannot have replicas."""
    del settings
    has = facts.variables.get("server_id", "0")
    why = "A server with id 0 sends its log to no replica."
    if has == "0":
        change = set_variable(facts, "server_id", "1")
        yield Finding("server_id", has, "problem", f"{why} {OWN_ID}", change)
    else:
        yield Finding("server_id", has, "ok", why)


def row_image(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report partial row images: MariaDB's lose information, MySQL's do not."""
    del settings
    if (has := facts.variables.get("binlog_row_image")) is None:
        return
    good = "Full rows are logged, before and after each change."
    if has.upper() == "FULL":
        yield Finding("binlog_row_image", has, "ok", good)
        return
    lossy = facts.version.is_mariadb and has.upper() in {"MINIMAL", "NOBLOB"}
    bad = (
        "MariaDB logs a REPLACE as an update without the columns that the statement omits, which"
        " cannot be distinguished from a real update"
        if lossy
        else "Values missing in row images are taken from other rows and the log's DEFAULTs; if"
        " these are unknown, the table is held"
    )
    change = set_variable(facts, "binlog_row_image", "FULL")
    verdict: Verdict = "problem" if lossy else "advice"
    yield Finding("binlog_row_image", has, verdict, f"{bad} ({RECONNECT}).", change)


def row_metadata(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report whether the log contains column names, or what the settings must add."""
    has = facts.variables.get("binlog_row_metadata")
    if has is not None and has.upper() == "FULL":
        why = "The log contains the names and types of columns."
        yield Finding("binlog_row_metadata", has, "ok", why)
        return
    lines: tuple[str, ...] = ()
    if facts.version.is_mariadb or not facts.version.since(mysql=(8, 0), mariadb=None):
        lines = _charset(facts, settings)
    setting = set_variable(facts, "binlog_row_metadata", "FULL") if has is not None else NOTHING
    why = (
        "The log does not name columns. For a table created before the log begins, binlake capture"
        " and binlake seed read them from the server if the user may SELECT it, or the settings"
        " give its definitions (mysqldump --no-data --databases …); otherwise the table is held"
    )
    known = not lines and has is None
    yield Finding(
        "binlog_row_metadata",
        has or "not in this version",
        "ok" if known else "advice",
        f"{why}.",
        RemedySteps(setting.statements, setting.option_file, conf=lines),
    )


def _charset(facts: ServerFacts, settings: Settings) -> tuple[str, ...]:
    """Return the settings line that sets the charset of text, unless it is set."""
    charset = facts.variables.get("character_set_server")
    if charset is None or settings.default_charset is not None:
        return ()
    return (f"default_charset: {charset}",)


GTID_MODES = ("OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")
"""MySQL's modes; `gtid_mode` can only be changed one step at a time."""


_GTIDS_ONLINE = (5, 7, 6)
"""First MySQL version that can change `gtid_mode` at run time."""
_GTIDS_AT_START = (
    "gtid_mode = ON",
    "enforce_gtid_consistency = ON",
    "log_slave_updates = ON",
)
"""Options for earlier versions: MySQL 5.6 manual, "Setting Up Replication Using GTIDs"."""


def gtid_mode(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report whether MySQL's GTIDs are enabled; MariaDB's always are."""
    del settings
    if (has := facts.variables.get("gtid_mode")) is None or facts.version.is_mariadb:
        return
    why = (
        "Without GTIDs a source cannot continue with the log of another server (after a failover,"
        " or from a replica), and gaps are only detected by file names"
    )
    mode = has.upper()
    if mode == "ON":
        yield Finding("gtid_mode", has, "ok", "Every transaction has a GTID.")
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
    waits = "; before the last step, Ongoing_anonymous_transaction_count must be 0 on all servers"
    yield Finding("gtid_mode", has, "advice", f"{why}{waits}.", RemedySteps(statements, lasting))


def _place(mode: str) -> int:
    return GTID_MODES.index(mode) if mode in GTID_MODES else 0


def retention(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report how long the server keeps its logs."""
    del settings
    why = "A log file purged before it was read is lost, so allow for days without a run"
    variable, seconds = _kept(facts)
    if variable is None:
        return
    limit = facts.variables.get("max_binlog_total_size", "0")
    if limit != "0":
        change = set_variable(facts, "max_binlog_total_size", "0")
        has = f"{limit} bytes in total"
        yield Finding("max_binlog_total_size", has, "advice", f"{why}.", change)
    has = "forever" if not seconds else f"{seconds / DAY:g} day{'s' if seconds != DAY else ''}"
    if not seconds or seconds >= LEAST_RETENTION:
        yield Finding(variable, has, "ok", f"{why}.")
        return
    yield Finding(variable, has, "advice", f"{why}.", _keep_longer(facts, variable))


def _kept(facts: ServerFacts) -> tuple[str | None, float]:
    """Return the effective variable and its value in seconds; 0: forever."""
    has = facts.variables
    days = float(has.get("expire_logs_days", "0"))
    if "binlog_expire_logs_seconds" not in has:
        return ("expire_logs_days" if "expire_logs_days" in has else None), days * DAY
    purges = has.get("binlog_expire_logs_auto_purge", "ON").upper() in {"ON", "1"}
    seconds = float(has["binlog_expire_logs_seconds"]) or days * DAY
    return "binlog_expire_logs_seconds", seconds if purges else 0


def _keep_longer(facts: ServerFacts, variable: str) -> RemedySteps:
    in_days = variable == "expire_logs_days"
    change = set_variable(facts, variable, str(RETENTION // DAY if in_days else RETENTION))
    days = facts.variables.get("expire_logs_days", "0")
    if in_days or facts.version.is_mariadb or float(days) == 0:
        return change
    # MySQL 8.0 ignores the seconds while days are set.
    return RemedySteps(("SET PERSIST expire_logs_days = 0", *change.statements))


def compression(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report that compressed transactions can be read."""
    del settings
    for variable in ("binlog_transaction_compression", "log_bin_compress"):
        if (has := facts.variables.get(variable)) is not None:
            yield Finding(variable, has, "ok", "Binlake reads compressed transactions.")


def encryption(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report encryption: MySQL's needs a key in the settings, MariaDB's cannot be read."""
    if (has := facts.variables.get("binlog_encryption")) is not None:
        known = settings.encryption.keyring is not None or bool(settings.encryption.passwords)
        asks = facts.is_on("binlog_encryption") and not known
        why = "Encrypted log files can only be read with a keyring or password in the settings"
        conf = ("encryption: {keyring: path of component_keyring_file's file}",) if asks else ()
        verdict: Verdict = "advice" if asks else "ok"
        yield Finding("binlog_encryption", has, verdict, f"{why}.", RemedySteps(conf=conf))
    if (has := facts.variables.get("encrypt_binlog")) is not None:
        why = "Files encrypted by MariaDB are refused: only the server has their keys."
        if facts.is_on("encrypt_binlog"):
            change = set_at_start("encrypt_binlog = OFF")
            yield Finding("encrypt_binlog", has, "problem", why, change)
        else:
            yield Finding("encrypt_binlog", has, "ok", why)


def system_time_zone(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Compare the current UTC offset of the server with that in the settings."""
    has = offset_text(facts.utc_offset)
    expected = facts.at.astimezone(zone(settings.system_time_zone)).utcoffset() or timedelta()
    why = (
        "A DEFAULT that is a time of day is in the server's time zone, which the log does not"
        f" record: the settings have {settings.system_time_zone}"
    )
    # Both clocks are not read at the same instant.
    if abs(facts.utc_offset - expected.total_seconds()) < 60:
        yield Finding("system_time_zone", has, "ok", f"{why}, which has the same offset now.")
        return
    why = f"{why} (a name such as Europe/Paris also covers daylight saving time)."
    conf = (f'system_time_zone: "{has}"',)
    yield Finding("system_time_zone", has, "problem", why, RemedySteps(conf=conf))


def offset_text(seconds: int) -> str:
    """Return an offset such as `+02:00`, rounded to the minute since the clocks differ slightly."""
    minutes = round(seconds / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def lower_case_table_names(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Compare the server's variable with the setting."""
    if (has := facts.variables.get("lower_case_table_names")) is None:
        return
    why = (
        "The log does not record whether Orders and orders are the same table; if the settings"
        " differ from the server, tables are held or mixed up."
    )
    if int(has) == (settings.lower_case_table_names or 0):
        yield Finding("lower_case_table_names", has, "ok", why)
        return
    change = RemedySteps(conf=(f"lower_case_table_names: {has}",))
    yield Finding("lower_case_table_names", has, "problem", why, change)


def log_filter(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report schemas that are replicated but not logged."""
    if facts.log_filter is None:
        return
    wanted = {t.schema for t in facts.tables if settings.wanted(t.schema, t.table)}
    missing = sorted(schema for schema in wanted if facts.log_filter.leaves_out(schema))
    why = "Changes in schemas excluded by binlog_do_db or binlog_ignore_db are not logged."
    check = "binlog_do_db, binlog_ignore_db"
    if not missing:
        yield Finding(check, "every replicated schema is logged", "ok", why)
        return
    line = "# remove binlog_do_db and binlog_ignore_db (binlog-do-db, binlog-ignore-db)"
    change = RemedySteps(option_file=(line,), restart=True)
    yield Finding(check, f"exclude {', '.join(missing)}", "problem", why, change)
