"""The report of a layer's run, which the command line, the DAG and the status show."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.observe.quantities import duration

NAMED = 3
"""Most tables named in a sentence about several."""
_PLACED = re.compile(
    r"(?P<place>[^:]+, position \d+): (?:[A-Z_]+: )?(?P<cause>.*?)\.?"
    r"(?: Affected tables \(held just before this position.*)?",
    re.DOTALL,
)
"""A reason that starts with its event's position, as in silver's quarantine and gold's blockers."""


@dataclass(frozen=True, slots=True)
class NewestFile:
    """The file in the input that was written last."""

    name: str
    written_at: datetime

    def sentence(self, now: datetime) -> str:
        """Return the age of the file: `the newest file, binlog.000004, is 3 h 12 min old`."""
        age = duration((now - self.written_at).total_seconds())
        return f"the newest file, {self.name}, is {age} old"


@dataclass(frozen=True, slots=True)
class LayerReport:
    """The report of one layer's run; everything is empty if there was nothing to do.

    `batches`: the numbers of the batches it finished; `counts`: their totals by name; `faults` and
    `gaps`: sentences for the user, each with file, position or table and the remedy; any of them
    makes the exit code 3. `notes`: what was skipped on purpose, not an error. `newest`: the newest
    file of bronze's input, if its store says when files were written.
    """

    layer: str
    batches: tuple[int, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    newest: NewestFile | None = None

    @property
    def worked(self) -> bool:
        """True if it did anything, also outside of batches, as seeding does."""
        return bool(self.batches) or any(self.counts.values())

    @property
    def clean(self) -> bool:
        """True if there is neither a fault nor a gap."""
        return not self.faults and not self.gaps


def sentences_by_cause(
    held_tables: Iterable[tuple[str, str]], single: Callable[[str, str], str]
) -> list[str]:
    """Return sentences about held tables, given as (name, reason).

    Tables with the same cause, wherever in the log, share one sentence; the sentence about a single
    table is `single(name, reason)`.
    """
    by_cause: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, reason in held_tables:
        placed = _PLACED.fullmatch(reason)
        by_cause[placed["cause"] if placed else reason].append((name, reason))
    found = []
    for cause, held in by_cause.items():
        names = list(dict.fromkeys(name for name, _ in held))
        if len(names) == 1:
            found += [single(name, reason) for name, reason in held]
            continue
        placed = _PLACED.fullmatch(held[0][1])
        place = f" The first at {placed['place']}." if placed else ""
        found.append(f"{len(names)} tables are held, {_named(names)}: {cause.rstrip('.')}.{place}")
    return found


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
