"""The record of a comparison with a server, a row of `ledger/runs` as other commands leave it.

Checksums alone are not recorded: they compare nothing, and computing them only reads the lake.
"""

from __future__ import annotations

import logging
import socket
import uuid
from datetime import datetime, timezone

from pipeline.errors import DONE, DONE_WITH_FAULTS, sentence_of
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.ledger.run_record import RunRecord, Sentence
from pipeline.lake.ledger.run_store import VERIFY, append_run
from pipeline.observe import redact, say
from pipeline.observe.current_run import binlake_version
from pipeline.settings import Settings
from pipeline.verify.against import Comparison
from pipeline.verify.report import Verification

KEPT = 200
"""Differences that a record keeps; all are counted."""


def keep_record(spark: Spark, settings: Settings, found: Verification, began: datetime) -> None:
    """Append the record of a comparison; log a failed write, and never raise: the result stands."""
    if found.against is None:
        return
    try:
        record = record_of(found, found.against, started(spark).version, began)
        append_run(spark, settings.layout, record)
    except Exception as error:
        message = f"the comparison's record was not written: {redact(sentence_of(error))}"
        say("record_not_written", message, level=logging.WARNING)


def record_of(
    found: Verification, against: Comparison, spark_version: str, began: datetime
) -> RunRecord:
    """Return the record: a fault for each difference and for what could not be compared, a note
    about what was compared. It has no values of rows."""
    ended = datetime.now(timezone.utc)
    faults = tuple(Sentence(VERIFY, redact(text)) for text in _differences(against))
    compared = f"{against.compared} tables compared with {against.server} at LSN {found.lsn}."
    notes = [compared, *against.notes]
    return RunRecord(
        run_id=uuid.uuid4().hex,
        source=found.source,
        command=VERIFY,
        layers=(VERIFY,),
        started_at=began,
        finished_at=ended,
        outcome="done" if against.equal else "faults",
        exit_code=DONE if against.equal else DONE_WITH_FAULTS,
        layer_seconds={VERIFY: round((ended - began).total_seconds(), 3)},
        fault_count=len(faults),
        faults=faults[:KEPT],
        note_count=len(notes),
        notes=tuple(Sentence(VERIFY, redact(note)) for note in notes[:KEPT]),
        binlake_version=binlake_version(),
        spark_version=spark_version,
        host=socket.gethostname(),
    )


def _differences(against: Comparison) -> list[str]:
    """Return why the comparison is not equal, a sentence each."""
    found = [f"{one.schema}.{one.table} differs: {one.reason}" for one in against.differences]
    found += [f"{one.name} was not compared: {one.reason}" for one in against.not_compared]
    if against.position:
        found.append(f"The server was not at the same position: {against.position}")
    if not against.compared:
        found.append("No table was compared.")
    return found
