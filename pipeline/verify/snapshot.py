"""Write checksums of a server's tables, in one consistent snapshot, to a file for `binlake verify`.

Runs near the server, on Python 3.10 or newer with PyMySQL: `binlake verify --script FILE.pyz`
packages this module and those it needs into one file. From Python, call `write_snapshot` with any
DB-API connection.

The file has a JSON document on each line: `HEADER`; then for every table an object that starts it,
an array [number, chunk, hash, key] for each row (unless keys are left out or stored elsewhere), and
an object with its count, its checksum, and [chunk, rows, checksum] of each of its chunks; last an
object with the number of tables. FLUSH TABLES WITH READ LOCK is held only while the log position is
read, and fails if it is not granted within 5 seconds.
"""

from __future__ import annotations

import argparse
import getpass
import gzip
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from json import dumps
from typing import Any, NamedTuple, TextIO

from pipeline.verify.canonical import canonical, checksum, key_text, row_hash
from pipeline.verify.chunks import WHOLE, Chunking, ChunkSums, chunk_count, table_sum
from pipeline.verify.snapshot_columns import (
    SnapshotTable,
    UnknownTypeError,
    as_text,
    estimated_rows,
    quoted,
    source_tables,
)

FORMAT = 2
HEADER = "binlake_snapshot"
"""The key of the format's version, in the first line."""

SESSION = (
    "SET NAMES utf8mb4",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION sql_mode = ''",
    # Reading a large table may take hours. The versioned comments apply to MySQL 5.7.8 and newer,
    # and to MariaDB 10.1.1 and newer.
    (
        "SET SESSION net_write_timeout = 86400 /*!50708 , max_execution_time = 0 */"
        # Current row estimates, not cached ones of up to a day ago.
        " /*!80003 , information_schema_stats_expiry = 0 */"
        " /*M!100101 , max_statement_time = 0 */"
    ),
    # FLUSH waits for long-running statements, and blocks all writers meanwhile.
    "SET SESSION lock_wait_timeout = 5",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)
_IDENTITY = {
    # The GTID set identifies the server's state only if every transaction has a GTID.
    False: (
        "SELECT @@GLOBAL.server_id, @@GLOBAL.server_uuid, @@GLOBAL.gtid_mode = 'ON',"
        " IF(@@GLOBAL.gtid_mode = 'ON', @@GLOBAL.gtid_executed, ''), ''"
    ),
    # A replica without log_slave_updates records replicated GTIDs only in gtid_slave_pos.
    True: ("SELECT @@GLOBAL.server_id, '', 1, @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos"),
}
"""The query of the server's id, its UUID, whether every transaction has a GTID, the executed GTIDs
(on MariaDB the logged ones), and MariaDB's replicated GTIDs. Keyed by whether it is MariaDB."""
LOCKED_SECONDS = 60
"""`wait_timeout` while tables are locked: the server then releases the lock of a lost client."""
FETCHED = 1000
"""Rows fetched from the driver at a time."""
Keep = Callable[[int, int, bytes, str], None]
"""Receives each row's table number, chunk, hash, and key as JSON."""
CHANGED = frozenset({1051, 1054, 1146, 1205, 1412})
"""Error codes of a SELECT whose table was altered, truncated or dropped since the snapshot began,
or stayed locked (1205) beyond the timeout."""


class Watcher:
    """Observer of a snapshot's progress; the methods do nothing unless overridden."""

    def begun(self, place: Mapping[str, Any]) -> None:
        """Called when the snapshot has begun at `place` (see `server_place`), before any row."""

    def reading(self, table: SnapshotTable, estimate: int) -> None:
        """Called before a table is read; `estimate`: its approximate number of rows."""

    def read(self, rows: int) -> None:
        """Called after `rows` more rows have been read."""


def write_snapshot(
    connection: Any,
    out: TextIO,
    *,
    tables: Sequence[str] = (),
    keys: bool = True,
    zero_dates: str = "null",
    stream: Callable[[], Any] | None = None,
    wanted: Callable[[str, str], bool] | None = None,
    watcher: Watcher | None = None,
    rows_in: str | None = None,
    keep: Keep | None = None,
) -> int:
    """Write the file for the server of a DB-API connection; return the number of tables.

    `tables`: patterns over `schema.table`, all if empty. `wanted`: a further filter by schema and
    name. `keys`: write each row's hash and key. `zero_dates`: as in the lake's settings.
    `stream`: returns an unbuffered cursor. `keep`: receives the rows' hashes and keys instead of
    the file, in which `rows_in` is recorded as their location.
    """
    cursor = connection.cursor()
    for statement in SESSION:
        cursor.execute(statement)
    watcher = watcher or Watcher()

    def chosen_one(schema: str, table: str) -> bool:
        name = f"{schema}.{table}"
        return _matches(name, tables) and (wanted is None or wanted(schema, table))

    def line(number: int, chunk: int, digest: bytes, key: str) -> None:
        out.write(f'[{number},{chunk},"{digest.hex()}",{key}]\n')

    options = _ReadOptions(keep or line, zero_dates, keys, watcher)
    # Read before the snapshot, whose start blocks all writers.
    chosen = list(source_tables(cursor, chosen_one))
    place = _begin(cursor)
    header = {HEADER: FORMAT, "zero_dates": zero_dates, "patterns": list(tables), "rows": rows_in}
    _write(out, {**header, **place})
    watcher.begun(place)
    for number, table in enumerate(chosen):
        reader = stream() if stream else connection.cursor()
        # Releases the table's metadata lock: otherwise an ALTER TABLE would wait for the end of the
        # snapshot, and all readers of the table would queue after it.
        cursor.execute("SAVEPOINT binlake")
        _write_table(reader, out, number, table, options)
        cursor.execute("ROLLBACK TO SAVEPOINT binlake")
    # Not COMMIT: MariaDB would log the savepoints as a transaction.
    cursor.execute("ROLLBACK")
    _write(out, {"tables": len(chosen)})
    return len(chosen)


def _begin(cursor: Any) -> dict[str, Any]:
    """Begin the snapshot; return its position (see `server_place`)."""
    cursor.execute("SET @binlake_wait_timeout = @@SESSION.wait_timeout")
    # A client that is lost while it holds the lock must not block the server for hours.
    cursor.execute(f"SET SESSION wait_timeout = {LOCKED_SECONDS}")
    cursor.execute("FLUSH TABLES WITH READ LOCK")
    try:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        return server_place(cursor)
    finally:
        cursor.execute("UNLOCK TABLES")
        cursor.execute("SET SESSION wait_timeout = @binlake_wait_timeout")


def server_place(cursor: Any) -> dict[str, Any]:
    """Return a server's identity and current position.

    `has_gtids`: every transaction has a GTID. `gtid_set`: the executed ones, empty if not, or if
    there are none (RESET). `server_uuid`: empty on MariaDB. `file` and `position`: None if there is
    no binary log. `gtids_logged`: the part of the set in the state of MariaDB's own log; domains
    that are only replicated may be old, and from unrelated servers.
    """
    version = _first(cursor, "SELECT VERSION()")[0]
    is_mariadb = "mariadb" in version.lower()
    server = _first(cursor, _IDENTITY[is_mariadb])
    place = _first(cursor, _log_status(version, is_mariadb=is_mariadb))
    return {
        "server": version,
        "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "server_id": int(server[0]),
        "server_uuid": server[1],
        "has_gtids": server[2] == "1",
        "gtid_set": ",".join(server[3:]).replace("\n", "").strip(","),
        "gtids_logged": server[3].replace("\n", ""),
        "file": place[0] if place else None,
        "position": int(place[1]) if place else None,
    }


def _log_status(version: str, *, is_mariadb: bool) -> str:
    """Return the statement for the log position; MySQL 8.4 has removed the old one."""
    major, minor = (int(n) for n in re.findall(r"\d+", version)[:2])
    return (
        "SHOW MASTER STATUS" if is_mariadb or (major, minor) < (8, 2) else "SHOW BINARY LOG STATUS"
    )


def _first(cursor: Any, sql: str) -> list[str]:
    cursor.execute(sql)
    rows = cursor.fetchall()
    return [as_text(value) for value in rows[0]] if rows else []


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Return True if one of the patterns over `schema.table` matches, or there are none."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


class _ReadOptions(NamedTuple):
    """Options for reading tables: the receiver of rows' hashes and keys (with `keys`), and the
    observer."""

    keep: Keep
    zero_dates: str
    keys: bool
    watcher: Watcher


def _write_table(
    cursor: Any, out: TextIO, number: int, table: SnapshotTable, options: _ReadOptions
) -> None:
    names = [column.name for column in table.columns]
    key = tuple(names.index(name) for name in table.key)
    estimate = _estimate(cursor, table)
    chunking = Chunking(chunk_count(estimate), key) if options.keys else WHOLE
    begin = {
        "table": number,
        "schema": table.schema,
        "name": table.table,
        "columns": [[column.name, column.kind] for column in table.columns],
        "key": list(table.key),
        "transactional": table.transactional,
        "keys": options.keys,
        "chunks": chunking.parts,
    }
    _write(out, begin)
    options.watcher.reading(table, estimate)
    try:
        sums = dict(_read_rows(cursor, number, table, chunking, options))
        rows, total = table_sum(sums)
        result = {"rows": rows, "checksum": checksum(total)}
    except Exception as error:
        if not _is_changed(error):
            raise
        sums, result = {}, {"rows": 0, "checksum": "", "changed": str(error.args[-1])}
    cursor.close()
    chunks = [[chunk, one.rows, checksum(one.total)] for chunk, one in sums.items()]
    _write(out, {"end": number, **result, "chunks": chunks})


def _estimate(cursor: Any, table: SnapshotTable) -> int:
    """Return the estimated number of rows; 0 if it is locked, which reading it then reports."""
    try:
        return estimated_rows(cursor, table)
    except Exception as error:
        if not _is_changed(error):
            raise
        return 0


def _is_changed(error: Exception) -> bool:
    """Return True if an error, of any driver, means that the table was changed or is locked."""
    return bool(error.args) and error.args[0] in CHANGED


def _read_rows(
    cursor: Any, number: int, table: SnapshotTable, chunking: Chunking, options: _ReadOptions
) -> ChunkSums:
    """Sum the rows by chunk, and pass each row's hash and key to `options.keep`."""
    writers = [canonical(column.kind, zero_dates=options.zero_dates) for column in table.columns]
    wanted = ", ".join(column.expression for column in table.columns)
    cursor.execute(f"SELECT {wanted} FROM {quoted(table.schema)}.{quoted(table.table)}")
    sums, key = ChunkSums(), chunking.key
    for portion in _fetched(cursor):
        for row in portion:
            texts = [write(value) for write, value in zip(writers, row, strict=True)]
            digest = row_hash(texts)
            chunk = chunking.chunk(texts, digest)
            sums.add(chunk, digest)
            if options.keys:
                shown = key_text([texts[n] for n in key] or texts, shorten=not key)
                options.keep(number, chunk, digest, shown)
        options.watcher.read(len(portion))
    return sums


def _fetched(cursor: Any) -> Iterator[Sequence[Any]]:
    while rows := cursor.fetchmany(FETCHED):
        yield rows


def _write(out: TextIO, line: dict[str, Any]) -> None:
    out.write(dumps(line) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script's command line; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        import pymysql
        from pymysql.converters import encoders
        from pymysql.cursors import SSCursor
    except ImportError:
        print("snapshot: requires PyMySQL: python3 -m pip install PyMySQL", file=sys.stderr)
        return 1
    password = os.environ.get("MYSQL_PWD")
    if password is None and sys.stdin.isatty():
        password = getpass.getpass(f"Password of {options.user}: ")
    place = {"unix_socket": options.socket} if options.socket else {"host": options.host}
    # Keep every value as the bytes that the server sends: driver types would round some.
    for_arguments: dict[Any, Any] = {**encoders}
    try:
        connection = pymysql.connect(
            **place,
            port=options.port,
            user=options.user,
            password=password or "",
            charset="utf8mb4",
            use_unicode=False,
            conv=for_arguments,
        )
        with connection, _output(options.output) as out:
            count = write_snapshot(
                connection,
                out,
                tables=options.tables,
                keys=not options.no_keys,
                zero_dates=options.zero_dates,
                stream=lambda: connection.cursor(SSCursor),
            )
    except (pymysql.MySQLError, UnknownTypeError, OSError) as error:
        print(f"snapshot: {error}", file=sys.stderr)
        return 1
    print(f"{count} tables", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="snapshot",
        description="Write checksums of a server's tables for binlake verify --against FILE.",
        epilog="The password is read from the environment variable MYSQL_PWD, or prompted for. The"
        " user needs SELECT, RELOAD and REPLICATION CLIENT (BINLOG MONITOR on MariaDB).",
    )
    parser.add_argument("output", metavar="FILE", help="output file; compressed if it ends in .gz")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=3306)
    parser.add_argument("--socket")
    parser.add_argument("--user", default="root")
    parser.add_argument(
        "--table", nargs="+", action="extend", default=[], metavar="SCHEMA.TABLE", dest="tables"
    )
    parser.add_argument("--no-keys", action="store_true", help="write only counts and checksums")
    parser.add_argument("--zero-dates", choices=("null", "string"), default="null")
    return parser


@contextmanager
def _output(path: str) -> Iterator[TextIO]:
    """Open the output under a temporary name; rename it once it is complete."""
    aside = f"{path}.{os.getpid()}"
    opened: Any = gzip.open if path.endswith(".gz") else open
    try:
        with opened(aside, "wt", encoding="ascii", newline="\n") as out:
            yield out
        os.replace(aside, path)
    finally:
        if os.path.exists(aside):
            os.remove(aside)


if __name__ == "__main__":
    sys.exit(main())
