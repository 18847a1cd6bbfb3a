"""A primary under 2,000 transactions a second while it is captured, seeded and verified."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status, run_command
from pipeline.settings import Settings
from pipeline.source.capture.state import read_state
from pipeline.verify.report import Verification
from pipeline.verify.run import verify_with_server
from tests.support.lake.run_layers import run_layers
from tests.support.servers.busy_primary import ROWS, SCHEMA, busy, made
from tests.support.servers.server import Server
from tests.support.source.capturing import command, differing, eventually

RATE = 2000
AT_LEAST = 1800
"""Transactions a second, with everything else on the same two cores."""
LOG_BYTES = 16 << 20
MORE_MEMORY_BYTES = 32 << 20
"""How much more memory a capture may use at the end than when the seed was read."""
BEHIND_SECONDS = 30


@contextmanager
def captured(server: Server, to: Path) -> Iterator[int]:
    """Run `binlake capture --forever`; yield its process."""
    process = command(server, to, "--forever")
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=60)
    assert process.returncode == 0, output


def most_memory(pid: int) -> int:
    """Return the peak memory of a process, in bytes."""
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found) << 10


def landed(server: Server, to: Path) -> bool:
    """True if everything the server has written so far is landed."""
    wanted = {log.name: log.stat().st_size for log in server.binlogs()}
    return all(
        (to / name).exists() and (to / name).stat().st_size >= size for name, size in wanted.items()
    )


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_gold_equals_a_primary_under_constant_load(
    kind: str, request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(f"{kind}_factory")(f"--max-binlog-size={LOG_BYTES}")
    made(server)
    logs = tmp_path / "logs"
    settings = Settings.load(
        None,
        source="busy",
        binlogs=str(logs),
        lake=str(tmp_path / "lake"),
        include=[f"{SCHEMA}.*"],
        server=f"{kind}://root@127.0.0.1:{server.port}",
        seed={"chunk_rows": 20_000, "parallel": 2},
    )

    def verified() -> Verification:
        return verify_with_server(spark, settings, QuietProgress(), patience=900)

    with captured(server, logs) as capture, busy(server, RATE) as work:
        (report,) = run_command(spark, settings, QuietProgress(), "seed")
        assert report.faults == ()
        assert report.counts["rows"] > 2 * ROWS
        memory = most_memory(capture)
        # A table is complete once the seed's last position is in the lake.
        eventually(lambda: landed(server, logs), BEHIND_SECONDS)
        run_layers(spark, settings, QuietProgress())
        assert all(table.complete for table in read_status(spark, settings).tables)
        with ThreadPoolExecutor(1) as pool:
            verifying = pool.submit(verified)
            requests = tmp_path / "lake" / "gold" / "_verification_points" / "busy"
            while not (verifying.done() or (requests.exists() and [*requests.glob("*.json")])):
                threading.Event().wait(0.2)
            # The snapshot's position is landed soon, and so are later changes: gold stops in
            # between.
            eventually(lambda: landed(server, logs), BEHIND_SECONDS)
            run_layers(spark, settings, QuietProgress())
            found = verifying.result()
        assert found.against is not None
        assert (found.against.position, found.against.differences) == ("", ())
        assert found.against.compared == 4
        print(f"{kind}: {work.rate():.0f} transactions/s for {time.monotonic() - work.began:.0f} s")
        assert work.rate() > AT_LEAST
        eventually(lambda: landed(server, logs), BEHIND_SECONDS)
        assert most_memory(capture) < memory + MORE_MEMORY_BYTES
    state = read_state(logs)
    assert state is not None
    assert state.reconnects == 0
    server.flush_logs()
    *closed, _, _ = server.binlogs()
    assert len(closed) > 1
    assert not {log.name for log in closed} & {*differing(server, logs)}
