"""The work of a sync on the lake: seed, round and maintenance, each like a command of its own.

All share one Spark. Each holds the lake's lease only while it runs, so that other commands can work
on the lake in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial

from pipeline.errors import DONE, DONE_WITH_FAULTS, SettingsError
from pipeline.lake import Ledger
from pipeline.lake.layout import require_writable
from pipeline.lake.ledger.ledger_table import FINISHED
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import last_runs_by_outcome
from pipeline.observe import LayerReport, Progress, say
from pipeline.run.commands import exit_code, recorded_run
from pipeline.run.preflight import require_places
from pipeline.run.recorder import Recorder
from pipeline.run.sync.round_recorder import Reported, RoundRecorder
from pipeline.settings import Settings
from pipeline.source.logs.ciphers import read_keys
from pipeline.source.logs.listing import find_any
from pipeline.spark.session import spark_for

ShowReports = Callable[[Sequence[LayerReport]], None]
"""Shows the reports of a run that had something to do, or something new to report."""


class Rounds:
    """Executor of a sync's steps with these settings.

    `lasting`: the process stays, and only what is new is recorded. `connector`: it may seed, so
    that Spark needs MariaDB's connector.
    """

    def __init__(
        self,
        settings: Settings,
        progress: Progress,
        shown: ShowReports,
        *,
        lasting: bool,
        connector: bool,
    ) -> None:
        require_writable(settings.lake)
        self.spark = spark_for(
            settings, progress, connector=connector, beside=True, lasting=lasting
        )
        self.record: RunRecord | None = None
        """The record of the last round, if it has one."""
        self._settings = settings
        self._progress = progress
        self._shown = shown
        self._lasting = lasting
        self._reported: dict[str, Reported] = {}
        self._codes: dict[str, int] = {}
        self._has_log = self._waits = False

    @property
    def exit_code(self) -> int:
        """3 if the last run of a command here had a fault or a gap."""
        return DONE_WITH_FAULTS if any(self._codes.values()) else DONE

    def has_log(self) -> bool:
        """Return True if there is a binary log to ingest; a capture's folder is empty at first."""
        if not self._has_log:
            places, keys = self._settings.binlogs, read_keys(self._settings.encryption)
            with suppress(SettingsError):  # a capture has yet to make the folder
                self._has_log = find_any([places] if isinstance(places, str) else places, keys)
            if not self._has_log and not self._waits:
                self._waits = True
                say(
                    "sync_waits",
                    f"There is no binary log at {self._settings.inputs} yet. The next round looks"
                    " again; check the capture if this persists.",
                )
        return self._has_log

    def seed(self) -> bool:
        """Seed the tables that gold lacks, once there is a log; return True if this was done."""
        if not self.has_log():
            return False
        require_places(["seed"], self._settings)
        self._run("seed")
        return True

    def round(self) -> bool:
        """Ingest, decode and apply what is new; return True if anything was."""
        if not self.has_log():
            return False
        require_places(["silver"], self._settings)
        return self._run("run")

    def maintain(self) -> bool:
        """Maintain the lake if that is due; return True if it was.

        It is due some time after the last maintenance, or after gold's first batch; and if the last
        maintenance was killed.
        """
        every, settings = self._settings.sync.maintain, self._settings
        ledger = Ledger(self.spark, settings.layout, settings.source)
        last = [one for one in ledger.last_entries() if one.layer == "maintenance"]
        done = last or ledger.history("gold")[:1]
        if every is None or not done:
            return False
        killed = bool(last) and last[0].state != FINISHED
        if not killed and done[0].at > datetime.now(timezone.utc) - every:
            return False
        self._run("maintain")
        return True

    def _run(self, command: str) -> bool:
        """Do what `binlake COMMAND` does; return True if there was something to do."""
        if command not in self._reported:
            failed = self._lasting and self._has_failed(command)
            self._reported[command] = Reported(failed=failed)
        reported = self._reported[command]
        before = reported.sentences
        recorder = partial(RoundRecorder, reported) if self._lasting else Recorder
        reports, record = recorded_run(
            self.spark, self._settings, self._progress, command, recorder
        )
        self._codes[command] = exit_code(reports)
        if command == "run":
            self.record = record
        worked = any(report.worked for report in reports)
        if worked or reported.sentences != before or not self._lasting:
            self._shown(reports)
        return worked

    def _has_failed(self, command: str) -> bool:
        """Return True if the last run of a command, in an earlier process, failed."""
        lake, source = self._settings.layout, self._settings.source
        runs = last_runs_by_outcome(self.spark, lake, source, command)
        return bool(runs) and runs[0].outcome == "failed"
