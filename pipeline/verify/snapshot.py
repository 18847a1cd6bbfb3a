"""Checksums of a server's tables, of one consistent snapshot, as a file for `binlake verify`.

Runs beside the server, on Python 3.10 or newer with PyMySQL: `binlake verify --script FILE.pyz`
writes this and what it needs into one file. Or from Python, with any DB-API connection:
`write_snapshot`.

The file has a JSON document on each line: `HEADER`, then for every table an object that begins it,
an array [number, chunk, hash, key] for each row unless keys are left out or kept elsewhere, and an
object with its count, its checksum, and [chunk, rows, checksum] of each of its chunks; last an
object with the number of tables. The snapshot is taken under FLUSH TABLES WITH
READ LOCK, which is held for as long as it takes to ask for the log's position, and given up where
it is not had within some seconds.
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
from pipeline.verify.chunks import (
    WHOLE,
    Chunking,
    ChunkSum,
    ChunkSums,
    chunk_count,
    together,
)
from pipeline.verify.snapshot_columns import (
    SourceTable,
    UnknownTypeError,
    as_text,
    estimated_rows,
    quoted,
    source_tables,
)

FORMAT = 2
HEADER = "binlake_snapshot"
"""The key of the format's number, in the first line."""

SESSION = (
    "SET NAMES utf8mb4",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION sql_mode = ''",
    # A large table is read for as long as it takes: the limits of MySQL 5.7.8 and newer, and of
    # MariaDB 10.1.1 and newer, stand in comments that only these read.
    (
        "SET SESSION net_write_timeout = 86400 /*!50708 , max_execution_time = 0 */"
        # How many rows a table has as the engine estimates it now, not as it did yesterday.
        " /*!80003 , information_schema_stats_expiry = 0 */"
        " /*M!100101 , max_statement_time = 0 */"
    ),
    # Whoever writes waits meanwhile: FLUSH waits for statements that have run for long.
    "SET SESSION lock_wait_timeout = 5",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)
_IDENTITY = {
    # Only where all transactions have one does a set of GTIDs tell the server's state.
    False: (
        "SELECT @@GLOBAL.server_id, @@GLOBAL.server_uuid, @@GLOBAL.gtid_mode = 'ON',"
        " IF(@@GLOBAL.gtid_mode = 'ON', @@GLOBAL.gtid_executed, ''), ''"
    ),
    # A replica may log nothing of what it replicates; then only the second one tells of it.
    True: ("SELECT @@GLOBAL.server_id, '', 1, @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos"),
}
"""By whether it is MariaDB: what asks for the server's id, its UUID, whether each transaction has a
GTID, what it has executed and logged, and what it has replicated."""
LOCKED_SECONDS = 60
"""How long the server keeps all tables locked for a client that says nothing."""
FETCHED = 1000
"""Rows that are asked of the driver at a time."""
Keep = Callable[[int, int, bytes, str], None]
"""Takes of each row the number of its table, its chunk, its hash, and its key as JSON."""
CHANGED = frozenset({1051, 1054, 1146, 1205, 1412})
"""Codes of a SELECT whose table was altered, emptied or dropped since the snapshot began, or that
somebody has locked (1205) for longer than is waited."""


class Watcher:
    """Is told how far a snapshot is, and does nothing with it: others override what they need."""

    def begun(self, place: Mapping[str, Any]) -> None:
        """The snapshot has begun, at `place` (see `server_place`); no row is read yet."""

    def reading(self, table: SourceTable, estimate: int) -> None:
        """The rows of a table are read from now on: about so many."""

    def read(self, rows: int) -> None:
        """So many rows more have been read."""


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
    """Write the file of a DB-API connection's server; how many tables it has.

    `tables`: patterns over `schema.table`, all if there is none; of these only those that are
    `wanted` by schema and name; `zero_dates` as in the lake's conf; `stream` gives a cursor that
    does not hold all rows at once. `keep` is told each row's hash and key, instead of the file,
    which then names `rows_in`, the place where they are.
    """
    cursor = connection.cursor()
    for statement in SESSION:
        cursor.execute(statement)
    watcher = watcher or Watcher()

    def chosen_one(schema: str, table: str) -> bool:
        return _matches(schema, table, tables) and (wanted is None or wanted(schema, table))

    def line(number: int, chunk: int, digest: bytes, key: str) -> None:
        out.write(f'[{number},{chunk},"{digest.hex()}",{key}]\n')

    reading = _Reading(keep or line, zero_dates, keys, watcher)
    # Before the snapshot: while it begins, whoever writes waits.
    chosen = list(source_tables(cursor, chosen_one))
    place = _begin(cursor)
    told = {HEADER: FORMAT, "zero_dates": zero_dates, "patterns": list(tables), "rows": rows_in}
    _write(out, {**told, **place})
    watcher.begun(place)
    for number, table in enumerate(chosen):
        reader = stream() if stream else connection.cursor()
        # Else who alters a table waits for the end of all, and whoever reads it waits behind that.
        cursor.execute("SAVEPOINT binlake")
        _write_table(reader, out, number, table, reading)
        cursor.execute("ROLLBACK TO SAVEPOINT binlake")
    # Not COMMIT: MariaDB would log the savepoints, as a transaction of its own.
    cursor.execute("ROLLBACK")
    _write(out, {"tables": len(chosen)})
    return len(chosen)


def _begin(cursor: Any) -> dict[str, Any]:
    """Begin the snapshot, and what it is of."""
    cursor.execute("SET @binlake_wait_timeout = @@SESSION.wait_timeout")
    # Whoever is gone without a word leaves no lock for the hours that a server waits for clients.
    cursor.execute(f"SET SESSION wait_timeout = {LOCKED_SECONDS}")
    cursor.execute("FLUSH TABLES WITH READ LOCK")
    try:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        return server_place(cursor)
    finally:
        cursor.execute("UNLOCK TABLES")
        cursor.execute("SET SESSION wait_timeout = @binlake_wait_timeout")


def server_place(cursor: Any) -> dict[str, Any]:
    """Where a server is now, and which one it is.

    `has_gtids`: whether every transaction of the server has a GTID. `gtid_set` is empty where not,
    and where it has executed none (RESET); `server_uuid` on MariaDB, which has none. `file` and
    `position` are None where it writes no log. `gtids_logged` are those of the set that MariaDB has
    in its own log's state: a domain that is only replicated may be of long ago, and of others.
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
    """The statement that gives the log's position: MySQL 8.4 has lost the old one."""
    major, minor = (int(n) for n in re.findall(r"\d+", version)[:2])
    return (
        "SHOW MASTER STATUS" if is_mariadb or (major, minor) < (8, 2) else "SHOW BINARY LOG STATUS"
    )


def _first(cursor: Any, sql: str) -> list[str]:
    cursor.execute(sql)
    rows = cursor.fetchall()
    return [as_text(value) for value in rows[0]] if rows else []


def _matches(schema: str, table: str, patterns: Sequence[str]) -> bool:
    name = f"{schema}.{table}"
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


class _Reading(NamedTuple):
    """How tables are read: where each row's hash and key go (with `keys`), and who is told."""

    keep: Keep
    zero_dates: str
    keys: bool
    watcher: Watcher


def _write_table(
    cursor: Any, out: TextIO, number: int, table: SourceTable, reading: _Reading
) -> None:
    names = [column.name for column in table.columns]
    key = tuple(names.index(name) for name in table.key)
    estimate = _estimate(cursor, table)
    chunking = Chunking(chunk_count(estimate), key) if reading.keys else WHOLE
    began = {
        "table": number,
        "schema": table.schema,
        "name": table.table,
        "columns": [[column.name, column.kind] for column in table.columns],
        "key": list(table.key),
        "transactional": table.transactional,
        "keys": reading.keys,
        "chunks": chunking.parts,
    }
    _write(out, began)
    reading.watcher.reading(table, estimate)
    try:
        sums = dict(_read_rows(cursor, number, table, chunking, reading))
        rows, total = together(sums)
        told = {"rows": rows, "checksum": checksum(total)}
    except Exception as error:
        if not _is_changed(error):
            raise
        sums, told = {}, {"rows": 0, "checksum": "", "changed": str(error.args[-1])}
    cursor.close()
    chunks = [[chunk, *_told(one)] for chunk, one in sums.items()]
    _write(out, {"end": number, **told, "chunks": chunks})


def _estimate(cursor: Any, table: SourceTable) -> int:
    """About how many rows it has; 0 where somebody has locked it: to read it says so again."""
    try:
        return estimated_rows(cursor, table)
    except Exception as error:
        if not _is_changed(error):
            raise
        return 0


def _is_changed(error: Exception) -> bool:
    """Whether a driver's error, whichever driver it is, tells of a table that cannot be read."""
    return bool(error.args) and error.args[0] in CHANGED


def _told(one: ChunkSum) -> tuple[int, str]:
    return one.rows, checksum(one.total)


def _read_rows(
    cursor: Any, number: int, table: SourceTable, chunking: Chunking, reading: _Reading
) -> ChunkSums:
    """What the rows come to, each of which is told to `reading.keep`."""
    writers = [canonical(column.kind, zero_dates=reading.zero_dates) for column in table.columns]
    wanted = ", ".join(column.expression for column in table.columns)
    cursor.execute(f"SELECT {wanted} FROM {quoted(table.schema)}.{quoted(table.table)}")
    sums, key = ChunkSums(), chunking.key
    for portion in _fetched(cursor):
        for row in portion:
            texts = [write(value) for write, value in zip(writers, row, strict=True)]
            digest = row_hash(texts)
            chunk = chunking.chunk(texts, digest)
            sums.add(chunk, digest)
            if reading.keys:
                told = key_text([texts[n] for n in key] or texts, cut=not key)
                reading.keep(number, chunk, digest, told)
        reading.watcher.read(len(portion))
    return sums


def _fetched(cursor: Any) -> Iterator[Sequence[Any]]:
    while rows := cursor.fetchmany(FETCHED):
        yield rows


def _write(out: TextIO, line: dict[str, Any]) -> None:
    out.write(dumps(line) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of the script; its exit code."""
    options = _parser().parse_args(arguments)
    try:
        import pymysql
        from pymysql.converters import encoders
        from pymysql.cursors import SSCursor
    except ImportError:
        print("snapshot: needs PyMySQL: python3 -m pip install PyMySQL", file=sys.stderr)
        return 1
    password = os.environ.get("MYSQL_PWD")
    if password is None and sys.stdin.isatty():
        password = getpass.getpass(f"Password of {options.user}: ")
    place = {"unix_socket": options.socket} if options.socket else {"host": options.host}
    # Every value as the bytes that the server sends: no driver's types, nothing rounded.
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
        description="Checksums of a server's tables, for binlake verify --against FILE.",
        epilog="The password is MYSQL_PWD of the environment, or asked for. The user needs SELECT,"
        " RELOAD and REPLICATION CLIENT (BINLOG MONITOR on MariaDB).",
    )
    parser.add_argument("output", metavar="FILE", help="where to write; .gz at its end compresses")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=3306)
    parser.add_argument("--socket")
    parser.add_argument("--user", default="root")
    parser.add_argument("--tables", nargs="+", default=(), metavar="SCHEMA.TABLE")
    parser.add_argument("--no-keys", action="store_true", help="only counts and checksums")
    parser.add_argument("--zero-dates", choices=("null", "string"), default="null")
    return parser


@contextmanager
def _output(path: str) -> Iterator[TextIO]:
    """A file that is there once it is whole."""
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
