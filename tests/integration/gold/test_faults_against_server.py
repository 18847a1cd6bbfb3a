"""A faulty transaction of a real server: the table of the fault, and those that wait for it."""

from __future__ import annotations

from pipeline.silver.tables.quarantine import sentence
from tests.support.decoder.logs import decoded, faults
from tests.support.servers.mysql import MySQLServer

SCHEMA = "at_fault"
TABLES = ("appointment", "visit", "zone")


def test_a_zero_date_in_a_key_names_its_table_before_the_waiting_ones(
    mysql: MySQLServer,
) -> None:
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mysql.execute(f"CREATE DATABASE {SCHEMA}")
    for name in TABLES:
        mysql.execute(f"CREATE TABLE {SCHEMA}.{name} (on_day DATE PRIMARY KEY, v INT)")
    mysql.flush_logs()
    with mysql.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        cursor.execute("BEGIN")
        for name, day in zip(TABLES, ("2026-11-22", "0000-00-00", "2026-11-23"), strict=True):
            cursor.execute(f"INSERT INTO {name} VALUES ('{day}', 1)")
        cursor.execute("COMMIT")
    (fault,) = faults(decoded(mysql.binlogs()[-1].read_bytes()))
    appointment, visit, zone = (f"{SCHEMA}.{name}" for name in TABLES)
    assert (fault["kind"], fault["tables"]) == ("lossy_key", [visit, appointment, zone])
    message = sentence({**fault, "file": "binlog.000002"})
    assert message.startswith(f"binlog.000002, position {fault['__pos']}: ")
    assert f"{visit}: column on_day: a value of the key cannot be represented" in message
    assert message.endswith(
        f"Affected tables (held just before this position, unless on_fault is mark): {visit}, and,"
        f" since the same transaction changes them too, {appointment}, {zone} (waiting for"
        f" {visit})."
        " Run binlake retry once the cause is fixed, or seed the held tables (binlake seed --table"
        " …), and run again."
    )
