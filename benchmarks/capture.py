"""Compare the speed of `binlake capture` with that of `mysqlbinlog --raw`.

`make bench-capture` starts a real MySQL server whose binary logs are the recorded files of `make
bench`. Both programs fetch them over TCP, in turn, with and without TLS. Timed is everything from
the login to the last byte on disk; Binlake also verifies every checksum and makes every file
durable, which mysqlbinlog does not. Exit code 1 if a landed file does not have the server's sha256.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.debezium.served import served
from benchmarks.marked import table
from benchmarks.workload import workload
from decoder.stream.precompile import warm
from pipeline.settings.capture import CaptureSettings
from pipeline.settings.server import TlsMode, TlsSettings
from pipeline.source import Capture
from pipeline.source.server.login import Login
from tests.support.servers.mysql import MySQLServer
from tests.support.source.capturing import differing

ROUNDS = 5
MODES: tuple[TlsMode, ...] = ("disabled", "required")
USER = "benchmark"


def main() -> int:
    """Run the benchmark and print a table."""
    rounds = parse_arguments().rounds
    warm()
    recording = workload()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with served(recording, folder / "server") as server:
            server.execute(f"CREATE USER {USER} IDENTIFIED BY ''; GRANT ALL ON *.* TO {USER}")
            server.flush_logs()
            size = sum(log.stat().st_size for log in server.binlogs())
            for mode in MODES:
                raced = [_race(server, folder / f"{mode}{n}", mode) for n in range(rounds)]
                if None in raced:
                    print("A landed file differs from the server's.", file=sys.stderr)
                    return 1
                rows.append(_row(mode, size, [times for times in raced if times]))
    print(table(("TLS", "mysqlbinlog --raw", "binlake capture", "ratio of speeds"), rows))
    return 0


def parse_arguments() -> argparse.Namespace:
    """Parse the number of rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    return parser.parse_args()


def _race(server: MySQLServer, folder: Path, mode: TlsMode) -> tuple[float, float] | None:
    """Return the seconds of both; None if a landed file differs from the server's."""
    theirs, ours = folder / "mysqlbinlog", folder / "binlake"
    theirs.mkdir(parents=True)
    seconds = (
        _timed(lambda: _mysqlbinlog(server, theirs, mode)),
        _timed(lambda: _capture(server, ours, mode)),
    )
    return seconds if not differing(server, ours) else None


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _mysqlbinlog(server: MySQLServer, folder: Path, mode: TlsMode) -> None:
    server.tool(
        "mysqlbinlog",
        *("--read-from-remote-server", "--raw", "--host=127.0.0.1", f"--port={server.port}"),
        *(f"--user={USER}", f"--ssl-mode={mode.upper()}", f"--result-file={folder}/"),
        *("--to-last-log", server.binlogs()[0].name),
    )


def _capture(server: MySQLServer, folder: Path, mode: TlsMode) -> None:
    login = Login("127.0.0.1", USER, server.port, tls=TlsSettings(mode=mode))
    Capture(CaptureSettings(to=str(folder)), login).run()


def _row(mode: TlsMode, size: int, raced: list[tuple[float, float]]) -> tuple[str, ...]:
    speeds = [
        statistics.median(size / seconds / 1e6 for seconds in side)
        for side in zip(*raced, strict=True)
    ]
    ratio = statistics.median(theirs / ours for theirs, ours in raced)
    return (mode, *(f"{speed:.0f} MB/s" for speed in speeds), f"{ratio:.2f}")


if __name__ == "__main__":
    sys.exit(main())
