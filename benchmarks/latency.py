"""Measure how long a commit on a real server takes until a reader of gold can see it.

`make bench-latency` fills tables on a MySQL server, starts `binlake sync --every 0s` as a process,
and writes small transactions to some of the tables at a steady rate. A reader polls gold's
published snapshots; a transaction's latency is from its commit, by the server's clock on this
machine, to when the reader first sees a snapshot that has it. At the end the sync gets a SIGTERM,
and gold is compared with the server by `binlake verify`.

The block in docs/contributing/benchmarks.md is written with `--document`. `make soak-sync` runs the
same for an hour, in which memory must not grow.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from deltalake import DeltaTable

from benchmarks.marked import DOCUMENT, Marks, table
from benchmarks.peers.machine import load, machine
from pipeline.lake import Lake
from tests.support.servers.mysql import MySQLServer

SCHEMA = "shop"
WRITERS = 4
COLUMNS = "id INT PRIMARY KEY, n INT, name VARCHAR(80), price DECIMAL(10,2), at DATETIME(6)"
POLL_SECONDS = 0.2
MARKS = Marks("bench-latency")
GOALS = ((50, 15.0), (95, 25.0))
"""Percentiles, and the seconds that they may be."""
SOAK = 3600
"""Seconds of a run from which on memory must not grow."""
UPKEEP = {"maintain": "10 min", "verify": "10 min"}
"""How often the sync of a soak maintains the lake, and verifies a sample of gold."""
GROWTH = 1.05
"""How much more memory a process may have in the last quarter of a soak than in the second one."""


def main() -> int:
    """Run the benchmark; return 1 if gold differs from the server, the sync failed, or a goal is
    missed."""
    asked = parse_arguments()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with MySQLServer(folder / "server", "--innodb-buffer-pool-size=512M") as server:
            fill(server, asked.tables, asked.rows)
            conf = settings_file(folder, server, soaks=asked.seconds >= SOAK)
            with synchronizing(conf, folder / "log.jsonl") as sync:
                wait_for_gold(folder, sync, asked.tables)
                measured = Measured(folder, sync.pid)
                with measured.reading():
                    write(server, asked, measured)
                sync.send_signal(signal.SIGTERM)
                code = sync.wait(600)
            equal = verified(conf)
        report = measured.report(asked)
    print(report)
    print(f"SIGTERM: exit code {code}; gold {'equals' if equal else 'DIFFERS from'} the server.")
    if asked.document:
        DOCUMENT.write_text(MARKS.replaced(DOCUMENT.read_text(), report))
    misses = [*measured.missed(), *(grown(measured.memories()) if asked.seconds >= SOAK else ())]
    print("\n".join(misses))
    return 0 if code == 0 and equal and not misses else 1


def parse_arguments() -> argparse.Namespace:
    """Parse the size of the load."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=50, help="tables on the server")
    parser.add_argument("--written", type=int, default=10, help="tables that are written to")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of each table")
    parser.add_argument("--rate", type=float, default=200, help="transactions a second")
    parser.add_argument("--warm-up", type=float, default=120, help="seconds not counted")
    parser.add_argument("--seconds", type=float, default=300, help="seconds measured")
    parser.add_argument("--document", action="store_true", help="write the result to docs")
    return parser.parse_args()


def fill(server: MySQLServer, count: int, rows: int) -> None:
    """Create the tables and their rows, then remove the logs: all is to be seeded.

    The log then begins with a transaction: before its first one a lake has no published snapshot,
    and seeds wait.
    """
    server.execute(f"CREATE DATABASE {SCHEMA}")
    for number in range(count):
        server.execute(
            f"USE {SCHEMA}; SET SESSION cte_max_recursion_depth = {rows + 1};"
            f"CREATE TABLE {SCHEMA}.t{number} ({COLUMNS});"
            f"INSERT INTO {SCHEMA}.t{number} WITH RECURSIVE n (i) AS"
            f" (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})"
            " SELECT i, i, LEFT(SHA2(i, 256), 40), i % 100000 / 4, NOW(6) FROM n"
        )
    server.execute("FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW(); CREATE DATABASE first")


def settings_file(folder: Path, server: MySQLServer, *, soaks: bool) -> Path:
    """Write the one settings file of the sync; a soak also maintains and verifies as it goes."""
    conf = folder / "sync.yml"
    settings = {
        "source": SCHEMA,
        "server": {"host": "127.0.0.1", "port": server.port, "user": "root"},
        "capture": {"to": str(folder / "logs")},
        "lake": str(folder / "lake"),
        "include": [f"{SCHEMA}.*"],
        "sync": {"every": "0s", **(UPKEEP if soaks else {"verify": None})},
    }
    conf.write_text(json.dumps(settings))
    return conf


@contextmanager
def synchronizing(conf: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `binlake sync`, whose log lines go to a file."""
    command = [sys.executable, "-m", "pipeline.cli", "sync", "--conf", str(conf), "--log", "json"]
    with log.open("wb") as lines, subprocess.Popen(command, stderr=lines) as process:
        try:
            yield process
        finally:
            process.kill()


def verified(conf: Path) -> bool:
    """Return True if gold equals the server."""
    command = [sys.executable, "-m", "pipeline.cli", "verify", "--conf", str(conf)]
    return subprocess.run([*command, "--against", "server", "--quiet"], check=False).returncode == 0


def wait_for_gold(folder: Path, sync: subprocess.Popen[bytes], count: int) -> None:
    """Wait until every table is in gold. Raises RuntimeError if the sync ends before."""
    while len([*(folder / "lake" / "gold" / SCHEMA).glob("t*/_delta_log")]) < count:
        if sync.poll() is not None:
            raise RuntimeError((folder / "log.jsonl").read_text()[-2000:])
        time.sleep(1)


def write(server: MySQLServer, asked: argparse.Namespace, measured: Measured) -> None:
    """Write at the rate for the whole time; what is committed after the warm-up counts."""
    print(f"{asked.tables} tables of {asked.rows:,} rows are in gold; writing …", flush=True)
    began = time.time()
    end = began + asked.warm_up + asked.seconds
    measured.since, measured.until = began + asked.warm_up, end
    with ThreadPoolExecutor(WRITERS) as pool:
        for done in [pool.submit(_write, server, asked, n, end) for n in range(WRITERS)]:
            done.result()
    time.sleep(60)  # the last commits are to be seen too


def _write(server: MySQLServer, asked: argparse.Namespace, writer: int, end: float) -> None:
    """Commit updates, and every tenth time an insert and a delete, on time."""
    pause = WRITERS / asked.rate
    due, number = time.time() + writer * pause / WRITERS, writer
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        while due < end:
            time.sleep(max(due - time.time(), 0))
            name, row = f"t{number % asked.written}", number * 7919 % asked.rows + 1
            statement = f"UPDATE {name} SET n = n + 1, at = NOW(6) WHERE id = {row}"
            if number // asked.written % 10 == 0:
                new = asked.rows + number + 1
                statement = f"INSERT INTO {name} VALUES ({new}, 0, 'new', 1, NOW(6))"
            elif number // asked.written % 10 == 1:
                statement = f"DELETE FROM {name} WHERE id = {row}"
            cursor.execute(statement)
            number += WRITERS
            due += pause


def grown(memories: Mapping[str, Sequence[float]]) -> list[str]:
    """Return a sentence for each process whose memory grew from the second quarter to the last."""
    return [
        f"{name}'s memory grew from {means[1] / 1e6:,.0f} to {means[-1] / 1e6:,.0f} MB."
        for name, means in memories.items()
        if means[-1] > GROWTH * means[1]
    ]


class Measured:
    """The snapshots that a reader of gold saw, the processes' memory, the rounds' log lines."""

    def __init__(self, folder: Path, process: int) -> None:
        self.since = self.until = 0.0
        self._folder = folder
        self._process = process
        self._lake = Lake(str(folder / "lake"))
        self._seen: list[tuple[int, float]] = []
        self._memory: list[tuple[float, int, int]] = []
        self._processor: list[tuple[float, float]] = []
        self._ended = threading.Event()
        self._missed: list[str] = []

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read until the end of the block, in a thread."""
        reader = threading.Thread(target=self._read)
        reader.start()
        try:
            yield
        finally:
            self._ended.set()
            reader.join()

    def report(self, asked: argparse.Namespace) -> str:
        """Return the result in Markdown."""
        found = self._latencies()
        percentiles = statistics.quantiles(found, n=100)
        self._missed = [
            f"The goal is missed: p{n} is {percentiles[n - 1]:.1f} s instead of {most:g} s."
            for n, most in GOALS
            if percentiles[n - 1] > most
        ]
        what = (
            f"{machine()}; load {load()}. {asked.rate:g} transactions a second over"
            f" {asked.written} of {asked.tables} tables of {asked.rows:,} rows, rounds back to"
            f" back, {asked.seconds:g} s after {asked.warm_up:g} s: {len(found):,} transactions."
        )
        goals = [
            [f"commit → readable in gold, p{n}", f"{percentiles[n - 1]:.1f} s", f"{most:g} s"]
            for n, most in GOALS
        ]
        rows = [*goals, ["the same, the longest", f"{max(found):.1f} s", ""], *self._rounds()]
        rows.append(["processor time a second, of both processes", f"{self._load():.2f} s", ""])
        for name, means in self.memories().items():
            text = " → ".join(f"{mean / 1e6:,.0f}" for mean in means)
            rows.append([f"{name}'s memory, first to last", f"{text} MB", ""])
        return f"{what}\n\n{table(['what', 'figure', 'goal'], rows)}"

    def _latencies(self) -> list[float]:
        """Return each transaction's seconds until a snapshot with it was seen."""
        columns = ["commit_lsn", "committed_at"]
        rows = DeltaTable(self._lake.transactions).to_pyarrow_table(columns=columns)
        lsns = [lsn for lsn, _ in self._seen]
        found = []
        for row in rows.to_pylist():
            at = row["committed_at"].timestamp()
            if self.since <= at < self.until:
                found.append(self._seen[bisect_left(lsns, row["commit_lsn"])][1] - at)
        return found

    def _rounds(self) -> Iterator[Sequence[str]]:
        """Yield the median seconds of a round, and of its layers' batches."""
        seconds: dict[str, list[float]] = defaultdict(list)
        for line in (self._folder / "log.jsonl").read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] in ("batch_finished", "run_finished") and self._counts(entry["time"]):
                seconds[entry.get("layer", "a round")].append(entry["seconds"])
        for name, each in sorted(seconds.items()):
            text = f"{statistics.median(each):.1f} s; {max(each):.1f} s"
            yield f"{name}: median and longest of {len(each)}", text, ""

    def _counts(self, at: str) -> bool:
        return self.since <= datetime.fromisoformat(at).timestamp() < self.until

    def _load(self) -> float:
        """Return the processor seconds that Python and Java use in a second."""
        counted = [one for one in self._processor if self.since <= one[0] < self.until]
        (first, before), (last, after) = counted[0], counted[-1]
        return (after - before) / (last - first)

    def missed(self) -> Sequence[str]:
        """Return a sentence for each goal that the reported latencies miss."""
        return self._missed

    def memories(self) -> dict[str, list[float]]:
        """Return the mean memory of each process, in bytes, in each quarter of the time."""
        found = {}
        counted = [one for one in self._memory if self.since <= one[0] < self.until]
        for place, name in ((1, "Python"), (2, "Java")):
            quarter = max(len(counted) // 4, 1)
            found[name] = [
                statistics.mean(one[place] for one in counted[start : start + quarter])
                for start in range(0, len(counted) - quarter + 1, quarter)
            ]
        return found

    def _read(self) -> None:
        """Note when each snapshot is first seen, and the memory every ten seconds."""
        version, looked = -1, 0.0
        while not self._ended.wait(POLL_SECONDS):
            log = Path(self._lake.cuts, "_delta_log")
            newest = max((int(f.stem) for f in log.glob("0*.json")), default=-1)
            if newest > version:
                version = newest
                rows = DeltaTable(self._lake.cuts).to_pyarrow_table(columns=["lsn"])
                self._seen.append((max(rows.column("lsn").to_pylist()), time.time()))
            if time.time() - looked > 10:
                looked = time.time()
                java = [process for process in _children(self._process) if _is_java(process)]
                own = _resident(self._process)
                self._memory.append((looked, own, sum(map(_resident, java))))
                used = sum(map(_processor_seconds, [self._process, *java]))
                self._processor.append((looked, used))


def _children(process: int) -> list[int]:
    file = Path(f"/proc/{process}/task/{process}/children")
    found = [int(word) for word in file.read_text().split()] if file.exists() else []
    return [*found, *(grandchild for child in found for grandchild in _children(child))]


def _is_java(process: int) -> bool:
    return Path(f"/proc/{process}/comm").read_text().strip() == "java"


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    sys.exit(main())
