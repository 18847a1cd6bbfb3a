"""What a layer's run did: what the command line, the DAG and the status show of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
