"""The tables of a batch's TABLE_MAPs without column names, by position.

Two tables, or one table before and after a RENAME COLUMN, may have identical TABLE_MAPs; so they
are looked up by their content and position together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoder import TableDefinition
from pipeline.schema_history.alter.items import Position

Named = tuple[Position, TableDefinition]


@dataclass(frozen=True, slots=True)
class TableNames:
    """The named definitions of each TABLE_MAP, by its fingerprint, with the position of each."""

    by_shown: Mapping[str, Sequence[Named]] = field(default_factory=dict)

    def __call__(self, shown: TableDefinition, lsn: int, pos: int) -> TableDefinition:
        """Return the definition of the TABLE_MAP at (`lsn`, `pos`), by default `shown` itself."""
        if not self.by_shown:
            return shown
        known = self.by_shown.get(shown.fingerprint(), ())
        place = bisect_right([position for position, _ in known], (lsn, pos))
        return known[place - 1][1] if place else shown

    @classmethod
    def of(cls, seen: Iterable[tuple[Position, TableDefinition, TableDefinition]]) -> TableNames:
        """Build the index from (position, definition shown, named definition), in log order."""
        found: dict[str, list[Named]] = defaultdict(list)
        seen = list(seen)
        # Most tables have maps with names, and need no entries.
        renamed = {(was.schema, was.table) for _, was, definition in seen if was != definition}
        for position, shown, definition in seen:
            if (shown.schema, shown.table) not in renamed:
                continue
            known = found[shown.fingerprint()]
            if (known[-1][1] if known else shown) != definition:
                known.append((position, definition))
        return cls({fingerprint: tuple(known) for fingerprint, known in found.items() if known})

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data, with definitions by fingerprint."""
        return {
            shown: [[*position, definition.fingerprint()] for position, definition in known]
            for shown, known in self.by_shown.items()
        }

    @classmethod
    def from_dict(
        cls, entries: Mapping[str, Any], definitions: Mapping[str, TableDefinition]
    ) -> TableNames:
        """Return the names that `to_dict` returned; `definitions` are by fingerprint."""
        return cls(
            {
                shown: tuple(((lsn, pos), definitions[name]) for lsn, pos, name in known)
                for shown, known in entries.items()
            }
        )
