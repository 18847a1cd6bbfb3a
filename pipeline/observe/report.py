"""What a layer's run did: what the command line, the DAG and the status show of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

NAMED = 3
"""Tables that one sentence about several names."""
_PLACED = re.compile(
    r"(?P<place>[^:]+, position \d+): (?:[A-Z_]+: )?(?P<cause>.*?)\.?(?: Held before it: .*)?",
    re.DOTALL,
)
"""A reason with the place of its event, as silver's quarantine and gold's blocks have it."""


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One layer's run. Nothing to do gives the report with everything empty.

    `batches`: the batch numbers it finished, `counts`: totals over them by name, `faults` and
    `gaps`: sentences for the user, each naming file, position or table and what to do next;
    any of them makes the exit code 3. `notes`: what was left out on purpose, no error.
    """

    layer: str
    batches: tuple[int, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def worked(self) -> bool:
        """Whether it did anything: also what comes in no batches, as seeds do."""
        return bool(self.batches) or any(self.counts.values())

    @property
    def clean(self) -> bool:
        """No fault and no gap."""
        return not self.faults and not self.gaps


def one_for_each_cause(
    told: Iterable[tuple[str, str]], single: Callable[[str, str], str]
) -> list[str]:
    """Sentences about tables that are held, each given with its reason.

    Tables with the same cause, wherever in the log, are one sentence; of one alone it is `single`,
    of its name and its reason.
    """
    by_cause: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, reason in told:
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
