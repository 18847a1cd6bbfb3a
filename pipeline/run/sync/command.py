"""The command `binlake sync`, without its options: one round, or repeated rounds."""

from __future__ import annotations

import logging
from contextlib import suppress

from pipeline.errors import DONE_WITH_FAULTS, FAILED, BinlakeError, sentence_of
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import Progress, say
from pipeline.run.preflight import require_places
from pipeline.run.sync.capture_records import CaptureRecords
from pipeline.run.sync.capture_thread import CaptureThread
from pipeline.run.sync.chores import Chore, Chores
from pipeline.run.sync.rounds import Rounds, ShowReports
from pipeline.run.sync.sample import VerifiedSample
from pipeline.settings import Settings
from pipeline.source.capture.command import capture_logs
from pipeline.source.capture.object_store import place_of
from pipeline.source.server.login import login

_CAPTURE_SECONDS = 1.0
"""Seconds between checks of the capture's thread."""
_STEADY_SECONDS = 60.0
"""Seconds that a capture must run after a failure to count as working again."""
_RECORD_SECONDS = 60.0
"""Seconds between checks whether a capture has failed or works again."""
_MAINTENANCE_SECONDS = 600.0
"""Seconds between checks whether maintenance is due; another command may have done it."""
_FIRST_SAMPLE_SECONDS = 900.0
"""Seconds until the first sample: a process that is restarted daily is to verify, too."""


def ready(settings: Settings) -> Settings:
    """Return the settings of a sync, whose round reads what it captures unless `binlogs` is set.

    Raises SettingsError if the lake, the server or the folder of the capture is not set.
    """
    settings.require("lake")
    place_of(settings.capture)
    login(settings)
    return settings if settings.binlogs else settings.updated(binlogs=settings.capture.to)


def once(
    settings: Settings, progress: Progress, shown: ShowReports
) -> tuple[int, RunRecord | None]:
    """Capture until caught up, seed what gold lacks, run, and maintain the lake if that is due.

    Returns the exit code, and the record of the run. Raises as each of the commands does.
    """
    settings = ready(settings)
    rounds = Rounds(settings, progress, shown, lasting=False, connector=True)
    records = CaptureRecords(rounds.spark, settings)
    capture = settings.capture.model_copy(update={"forever": False})
    with records.failures():
        capture_logs(settings.model_copy(update={"capture": capture}), progress)
    records.works()
    require_places(["bronze"], settings)
    rounds.seed()
    rounds.round()
    try:
        rounds.maintain()
    except BinlakeError as error:  # gold is published
        message = f"maintain failed: {sentence_of(error)} The next sync tries it again."
        say("sync_retries", message, level=logging.WARNING, chore="maintain", failures=1)
    return rounds.exit_code, rounds.record


def continuously(
    settings: Settings, progress: Progress, shown: ShowReports, *, captures: bool
) -> int:
    """Run a round every `sync.every` until a signal; return the exit code: 1 if the last try of an
    essential chore failed.

    `captures`: also capture the server, and first seed what gold lacks. Otherwise ingest what
    others copy to `binlogs`. The first signal ends it after the current round, the second at once.
    Raises an error that a retry cannot fix.
    """
    sync = settings.sync
    settings = ready(settings) if captures else settings.require("lake", "binlogs")
    if not captures:
        require_places(["bronze"], settings)
    rounds = Rounds(settings, progress, shown, lasting=True, connector=captures)
    thread = CaptureThread(settings, CaptureRecords(rounds.spark, settings))
    sample = VerifiedSample(rounds.spark, settings)
    every = sync.every.total_seconds() if sync.every else 0.0
    found = [Chore("run", rounds.round, every, unhurried=True)]
    if captures:
        tending = Chore(
            "capture", thread.tend, _CAPTURE_SECONDS, unhurried=True, steady=_STEADY_SECONDS
        )
        found = [tending, Chore("seed", rounds.seed, None), *found]
        found.append(_capture_record(thread))
    if sync.maintain is not None:
        found.append(Chore("maintain", rounds.maintain, _MAINTENANCE_SECONDS, essential=False))
    chores = Chores(found)
    if captures and sync.verify is not None:
        seconds = sync.verify.total_seconds()
        verifying = Chore("verify", sample.verify, seconds, unhurried=True, essential=False)
        chores.add(verifying, _FIRST_SAMPLE_SECONDS)
    say("sync_started", f"A round every {every:.0f} s, until SIGTERM or Ctrl-C.")
    try:
        chores.run()
    except BaseException:
        with suppress(Exception):  # the first error is the one to report
            thread.end()
        raise
    finally:
        sample.end()
    thread.end()
    say("sync_ended", "Ended after the last round.")
    if chores.failing:
        return FAILED
    return DONE_WITH_FAULTS if sample.differing else rounds.exit_code


def _capture_record(thread: CaptureThread) -> Chore:
    record = thread.record_state
    return Chore("capture record", record, _RECORD_SECONDS, unhurried=True, essential=False)
