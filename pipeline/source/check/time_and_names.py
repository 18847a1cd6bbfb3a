"""Checks of what the log does not record: conf must match the server here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from pipeline.settings import Settings
from pipeline.settings.time_zone import zone
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import Change, Finding


def system_time_zone(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Compare the current UTC offset of the server with that of conf."""
    has = _offset(facts.utc_offset)
    expected = facts.at.astimezone(zone(settings.system_time_zone)).utcoffset() or timedelta()
    why = (
        "A DEFAULT that is a time of day is in the server's time zone, which the log does not"
        f" record: conf has {settings.system_time_zone}"
    )
    # Both clocks are not read at the same instant.
    if abs(facts.utc_offset - expected.total_seconds()) < 60:
        yield Finding("system_time_zone", has, "fit", f"{why}, which has the same offset now.")
        return
    why = f"{why} (a name such as Europe/Paris also covers daylight saving time)."
    conf = (f'system_time_zone: "{has}"',)
    yield Finding("system_time_zone", has, "unfit", why, Change(conf=conf))


def _offset(seconds: int) -> str:
    """Return an offset such as `+02:00`, rounded to the minute since the clocks differ slightly."""
    minutes = round(seconds / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def lower_case_table_names(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Compare the server's variable with that of conf."""
    if (has := facts.variables.get("lower_case_table_names")) is None:
        return
    why = (
        "The log does not record whether Orders and orders are the same table; if conf differs from"
        " the server, tables are held or mixed up."
    )
    if int(has) == (settings.lower_case_table_names or 0):
        yield Finding("lower_case_table_names", has, "fit", why)
        return
    change = Change(conf=(f"lower_case_table_names: {has}",))
    yield Finding("lower_case_table_names", has, "unfit", why, change)


def log_filter(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report schemas that are replicated but not logged."""
    if facts.log_filter is None:
        return
    wanted = {t.schema for t in facts.tables if settings.wanted(t.schema, t.table)}
    missing = sorted(schema for schema in wanted if facts.log_filter.leaves_out(schema))
    why = "Changes in schemas excluded by binlog_do_db or binlog_ignore_db are not logged."
    check = "binlog_do_db, binlog_ignore_db"
    if not missing:
        yield Finding(check, "every replicated schema is logged", "fit", why)
        return
    line = "# remove binlog_do_db and binlog_ignore_db (binlog-do-db, binlog-ignore-db)"
    change = Change(option_file=(line,), restart=True)
    yield Finding(check, f"exclude {', '.join(missing)}", "unfit", why, change)
