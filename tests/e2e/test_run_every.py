"""`binlake run --every` as a process: files are applied as they arrive, by one Java."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

import binlake
from demo.run import FOLDER
from demo.show import show_figures
from pipeline.lake import Lake
from pipeline.lake.ledger.run_store import read_runs
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.spark.session import JAVA_OPTIONS, QUICK
from tests.integration.cli.test_interrupted_commands import ended, of_session, running
from tests.support.source.capturing import eventually
from tests.support.spark.no_spark import NO_SPARK

PATIENCE = 300.0
IDLE_SECONDS = 4.0
"""Enough for a round with nothing to do."""


@dataclass
class Watched:
    """A process that follows a folder; `javas` has the Java processes of each look at it, `file`
    the last file that it has published after `commits` to the ledger."""

    process: subprocess.Popen[bytes]
    lake: Path
    javas: list[set[int]] = field(default_factory=list)
    commits: int = 0
    file: int = 0

    def wait_until_published(self, file: int) -> None:
        """Wait until gold's published snapshot has a file, and through an idle round after it."""
        eventually(lambda: self._look(every=0.8) and self._published() == file, PATIENCE)
        idle = time.monotonic() + IDLE_SECONDS
        eventually(lambda: self._look(every=0.2) and time.monotonic() > idle)

    def _look(self, every: float) -> bool:
        time.sleep(every)
        assert self.process.poll() is None
        programs = of_session(self.process.pid)
        self.javas.append({pid for pid, program in programs.items() if program == "java"})
        return True

    def _published(self) -> int:
        """Return the number of the file in which the published snapshot ends.

        The status is read again only after another commit to the ledger.
        """
        commits = sum(1 for _ in self.lake.glob("ledger/*/_delta_log/*.json"))
        if commits != self.commits:
            self.commits = commits
            with suppress(binlake.SettingsError):  # there is no lake yet
                lsns = [source.cut_lsn or 0 for source in binlake.status(self.lake).sources]
                self.file = max(lsns, default=0) >> OFFSET_BITS
        return self.file


def test_files_are_applied_as_they_arrive_by_one_java_until_sigterm(tmp_path: Path) -> None:
    lake, logs = tmp_path / "lake", tmp_path / "logs"
    logs.mkdir()
    *first, last = sorted((FOLDER / "binlogs").iterdir())
    for log in first:
        shutil.copy(log, logs)
    conf = tmp_path / "shop.yml"
    conf.write_text(
        "spark:\n"
        f"  conf: {{spark.sql.codegen.factoryMode: NO_CODEGEN, {JAVA_OPTIONS}: {QUICK}}}\n"
        "gold: {change_data_feed: [shop.orders]}\n"  # which needs Spark
    )
    options = ("--conf", str(conf), "--source", "shop", "--binlogs", str(logs))
    with running(lake, "run", "--every", "1s", *options) as process:
        watched = Watched(process, lake)
        watched.wait_until_published(len(first))
        (java,) = watched.javas[-1]
        shutil.copy(last, tmp_path)
        (tmp_path / last.name).replace(logs / last.name)
        watched.wait_until_published(len(first) + 1)
        assert ended(process, os.kill, signal.SIGTERM, 30) == 0
    assert watched.javas[-1] == {java}
    assert max(map(len, watched.javas)) == 1

    # Of the rounds, two had something to do.
    second, initial = read_runs(NO_SPARK, Lake(str(lake)))
    assert [(one.outcome, one.files) for one in (initial, second)] == [("done", 3), ("done", 1)]
    gold = binlake.read(lake, engine="arrow")
    assert show_figures(gold, FOLDER / "expected.json", Console(quiet=True))
