"""Problems that need somebody's attention, and the commands that help."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import redact
from pipeline.run.status import Status, TableStatus, seeding

_ENDED = {"failed": "failed", "interrupted": "was interrupted"}


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """A sentence on what is wrong, with its table if it is about one, and remedies.

    `remedies`: sentences that begin with the command to run.
    """

    sentence: str
    table: str = ""
    remedies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attention:
    """Items that need attention: held tables first, then other problems, then incomplete tables.

    `drifted`: gold's row differed from a before image; it now has the log's, so it may be right.
    """

    held: tuple[AttentionItem, ...]
    problems: tuple[AttentionItem, ...]
    incomplete: tuple[AttentionItem, ...]
    drifted: tuple[AttentionItem, ...]

    @property
    def count(self) -> int:
        """The number of problems of all kinds."""
        return sum(map(len, (self.held, self.problems, self.incomplete, self.drifted)))


def attention(status: Status, verifications: Iterable[RunRecord] = ()) -> Attention:
    """Return what needs attention in a lake; `verifications`: the last one of each source."""
    held = tuple(_held(status.lake, table) for table in status.tables if table.held)
    other = [AttentionItem(redact(sentence)) for sentence in status.problems]
    other += [AttentionItem(sentence) for sentence in _failed_runs(status)]
    other += [AttentionItem(one.overdue) for one in status.sources if one.overdue]
    other += [
        AttentionItem(
            f"{run.source}: the last verification found differences: {run.fault_count:,}."
        )
        for run in verifications
        if run.outcome == "faults"
    ]
    if unnamed := [_name(table) for table in status.tables if not table.named]:
        other.append(
            AttentionItem(f"The column names of these tables are unknown: {', '.join(unnamed)}.")
        )
    if status.capture is not None and status.capture.problem:
        other.append(AttentionItem(redact(f"Capture: {status.capture.problem}")))
    return Attention(held, tuple(other), tuple(_incomplete(status)), tuple(_drifted(status)))


def _failed_runs(status: Status) -> Iterator[str]:
    for source in status.sources:
        run = source.last_run
        if run is not None and run.outcome in ("failed", "interrupted"):
            error = f" {redact(run.error)}" if run.error else ""
            yield f"{source.source}: the last {run.command} {_ENDED[run.outcome]}.{error}"


def _held(lake: str, table: TableStatus) -> AttentionItem:
    places = shlex.join(["--source", table.source, "--lake", lake])
    retried = f"binlake retry {places} applies what was held, once the cause is fixed."
    remedies = (retried, seeding(lake, table.source, table.name))
    return AttentionItem(redact(table.reason or ""), _name(table), tuple(map(redact, remedies)))


def _incomplete(status: Status) -> Iterator[AttentionItem]:
    for table in status.tables:
        if table.state == "incomplete":
            remedies = (redact(table.remedy),) if table.remedy else ()
            yield AttentionItem(redact(table.reason or "Rows are missing."), _name(table), remedies)


def _drifted(status: Status) -> Iterator[AttentionItem]:
    for table in status.tables:
        if table.state == "drifted":
            sentence = (
                f"For {table.drift:,} changes, gold's row was not the one that the log expects."
            )
            remedy = (
                f"binlake verify {shlex.join(['--lake', status.lake])} --against server names"
                " the keys that differ."
            )
            yield AttentionItem(sentence, _name(table), (redact(remedy),))


def _name(table: TableStatus) -> str:
    return f"{table.schema}.{table.table}"
