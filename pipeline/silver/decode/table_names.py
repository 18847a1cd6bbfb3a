"""What the TABLE_MAPs of a batch are of, where the log does not tell: by their places in it.

Two tables, or one before and after a RENAME COLUMN, may have TABLE_MAPs of the same bytes; so what
one shows is looked up together with where it stands.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoder import TableDefinition
from pipeline.catalog.alter.items import Position

Named = tuple[Position, TableDefinition]


@dataclass(frozen=True, slots=True)
class TableNames:
    """By what a TABLE_MAP shows (its fingerprint): the table from which position on, in order."""

    by_shown: Mapping[str, Sequence[Named]] = field(default_factory=dict)

    def __call__(self, shown: TableDefinition, lsn: int, pos: int) -> TableDefinition:
        """What the TABLE_MAP at (`lsn`, `pos`) is of: `shown` itself if nothing else is known."""
        if not self.by_shown:
            return shown
        known = self.by_shown.get(shown.fingerprint(), ())
        place = bisect_right([position for position, _ in known], (lsn, pos))
        return known[place - 1][1] if place else shown

    @classmethod
    def of(cls, seen: Iterable[tuple[Position, TableDefinition, TableDefinition]]) -> TableNames:
        """From (position, what is shown, the table), in log order."""
        found: dict[str, list[Named]] = defaultdict(list)
        seen = list(seen)
        # Of most tables a map with names tells all, whatever it shows.
        told = {(was.schema, was.table) for _, was, definition in seen if was != definition}
        for position, shown, definition in seen:
            if (shown.schema, shown.table) not in told:
                continue
            known = found[shown.fingerprint()]
            if (known[-1][1] if known else shown) != definition:
                known.append((position, definition))
        return cls({fingerprint: tuple(known) for fingerprint, known in found.items() if known})

    def to_dict(self) -> dict[str, Any]:
        """As JSON, definitions by their fingerprints."""
        return {
            shown: [[*position, definition.fingerprint()] for position, definition in known]
            for shown, known in self.by_shown.items()
        }

    @classmethod
    def from_dict(
        cls, entries: Mapping[str, Any], definitions: Mapping[str, TableDefinition]
    ) -> TableNames:
        """What `to_dict` gave; `definitions` by fingerprint."""
        return cls(
            {
                shown: tuple(((lsn, pos), definitions[name]) for lsn, pos, name in known)
                for shown, known in entries.items()
            }
        )
