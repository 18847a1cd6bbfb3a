"""Checks of what the log does not tell and conf must say as the server has it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from pipeline.settings import Settings
from pipeline.settings.time_zone import zone
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import Change, Finding


def system_time_zone(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """The clock of the server against that of conf, at this moment."""
    has = _offset(facts.utc_offset)
    told = facts.at.astimezone(zone(settings.system_time_zone)).utcoffset() or timedelta()
    why = (
        "A DEFAULT that is a time of day has the server's own time zone, which the log does not"
        f" tell: conf says {settings.system_time_zone}"
    )
    # Where the clock is read a moment earlier or later, it is the same time zone.
    if abs(facts.utc_offset - told.total_seconds()) < 60:
        yield Finding("system_time_zone", has, "fit", f"{why}, which is the same now.")
        return
    why = f"{why} (a name such as Europe/Paris also tells when clocks change)."
    conf = (f'system_time_zone: "{has}"',)
    yield Finding("system_time_zone", has, "unfit", why, Change(conf=conf))


def _offset(seconds: int) -> str:
    """`+02:00`, to the minute: the server and its clock were asked one after the other."""
    minutes = round(seconds / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def lower_case_table_names(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """The server's variable against that of conf."""
    if (has := facts.variables.get("lower_case_table_names")) is None:
        return
    why = (
        "Whether Orders and orders are one table is not in the log; where conf says it otherwise"
        " than the server has it, tables are held or mixed up."
    )
    if int(has) == (settings.lower_case_table_names or 0):
        yield Finding("lower_case_table_names", has, "fit", why)
        return
    change = Change(conf=(f"lower_case_table_names: {has}",))
    yield Finding("lower_case_table_names", has, "unfit", why, change)


def log_filter(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Schemas that are replicated, but not logged."""
    if facts.log_filter is None:
        return
    wanted = {t.schema for t in facts.tables if settings.wanted(t.schema, t.table)}
    missing = sorted(schema for schema in wanted if facts.log_filter.leaves_out(schema))
    why = "Changes in schemas that binlog_do_db or binlog_ignore_db leave out are in no log."
    check = "binlog_do_db, binlog_ignore_db"
    if not missing:
        yield Finding(check, "all that is replicated is logged", "fit", why)
        return
    line = "# take out binlog_do_db and binlog_ignore_db (binlog-do-db, binlog-ignore-db)"
    change = Change(option_file=(line,), restart=True)
    yield Finding(check, f"leave out {', '.join(missing)}", "unfit", why, change)
