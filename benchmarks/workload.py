"""The bench workload: about 250 MB of binlogs, recorded once from a real MySQL server.

140 bulk transactions of 10,000 rows of 12 columns, then 100,000 small ones of mixed inserts,
updates and deletes with JSON on four tables, by four connections. Kept under `.cache/bench`, with
the figures that SELECT gave at the end.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from benchmarks.figures import Column, Tables, mysql_query
from tests.support.servers.mysql import MySQLServer

CACHE = Path(__file__).parents[1] / ".cache" / "bench"
SQL = Path(__file__).with_suffix(".sql")
SCHEMA = "bench"
BULK_TRANSACTIONS = 140
BULK_ROWS = 10_000
SMALL_TRANSACTIONS = 100_000
THREADS = 4
WHOLE = Fraction(1)
OPTIONS = ("--innodb-buffer-pool-size=1G", "--innodb-redo-log-capacity=1G")

TABLES: Tables = {
    "readings": (
        *map(Column.same, ("id", "device", "name", "site", "status", "flags", "amount", "rate")),
        Column.instant("taken_at"),
        Column("CAST(stored_at AS DATETIME(6))", Column.instant("stored_at").spark),
        Column.member("detail", "$.tags[1]"),
    ),
    "accounts": (
        *map(Column.same, ("id", "name", "balance")),
        Column.instant("changed_at"),
        Column.member("profile", "$.customer.city"),
    ),
    "orders": (
        *map(Column.same, ("id", "account", "status", "total")),
        Column.instant("placed_at"),
        Column.member("document", "$.seq"),
        Column.member("document", "$.paid"),
        Column.member("document", "$.comment"),
    ),
    "order_lines": tuple(
        map(Column.same, ("order_id", "line", "article", "quantity", "price")),
    ),
    "sessions": (
        Column("HEX(id)", "hex(id)"),
        *map(Column.same, ("account", "agent")),
        Column.member("state", "$.seq"),
    ),
}


@dataclass(frozen=True, slots=True)
class Recording:
    """Binlogs in a folder of their own, and each table's figures by its name."""

    folder: Path

    @property
    def binlogs(self) -> list[Path]:
        """The files, in order."""
        return sorted((self.folder / "binlogs").iterdir())

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(log.stat().st_size for log in self.binlogs)

    @property
    def figures(self) -> dict[str, list[int]]:
        """The results of SELECT on the source, once everything was written."""
        figures: dict[str, list[int]] = json.loads((self.folder / "figures.json").read_text())
        return figures


def workload(scale: Fraction = WHOLE, file_size: str = "1G") -> Recording:
    """The bench workload, or a multiple, in files of about `file_size`; recorded if need be."""
    name = "workload" if (scale, file_size) == (WHOLE, "1G") else f"workload-{scale}-{file_size}"
    return recorded(
        name.replace("/", "of"),
        partial(write_workload, scale=scale),
        SCHEMA,
        TABLES,
        (*OPTIONS, f"--max-binlog-size={file_size}"),
        [Path(__file__), SQL],
    )


def recorded(
    name: str,
    write: Callable[[MySQLServer], None],
    schema: str,
    tables: Tables,
    options: tuple[str, ...],
    sources: list[Path],
) -> Recording:
    """The recording of `write` on a server, from the cache if its `sources` are unchanged."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    folder = CACHE / f"{name}-{digest[:12]}"
    if folder.exists():
        return Recording(folder)
    CACHE.mkdir(parents=True, exist_ok=True)
    print(f"Recording the {name} from a real server, once …", flush=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        made = Path(scratch) / "made"
        with MySQLServer(Path(scratch) / "server", *options) as server:
            write(server)
            figures = {
                table: [int(n) for n in server.execute(mysql_query(schema, table, columns))[0]]
                for table, columns in tables.items()
            }
            server.stop()
            (made / "binlogs").mkdir(parents=True)
            for log in server.binlogs():
                shutil.move(log, made / "binlogs" / log.name)
        (made / "figures.json").write_text(json.dumps(figures))
        made.rename(folder)
    return Recording(folder)


def write_workload(server: MySQLServer, scale: Fraction = WHOLE) -> None:
    """Bulk first, then the small transactions side by side; `scale` times as many of both."""
    server.execute(SQL.read_text())
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION cte_max_recursion_depth = 100000")
        for number in range(int(BULK_TRANSACTIONS * scale)):
            cursor.execute("CALL bench.fill(%s, %s)", (number * BULK_ROWS, BULK_ROWS))
    share = int(SMALL_TRANSACTIONS * scale) // THREADS
    with ThreadPoolExecutor(THREADS) as pool:
        calls = [f"CALL bench.trade({thread}, {share})" for thread in range(1, THREADS + 1)]
        list(pool.map(server.execute, calls))


def main() -> None:
    """Record it, and say what it is."""
    recording = workload()
    print(f"{recording.size / 1e6:.1f} MB in {recording.folder}: {recording.figures}")


if __name__ == "__main__":
    main()
