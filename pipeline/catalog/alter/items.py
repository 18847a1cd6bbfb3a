"""The timeline's items: what happened to a table, where in the log, and what it is from then on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields as dataclass_fields
from typing import Any, Literal

from pydantic import TypeAdapter

from decoder import TableDefinition
from pipeline.catalog.ddl.effects import TableName
from pipeline.catalog.ddl.model import TableModel
from pipeline.catalog.ddl.partitions import PartitionRows

ItemKind = Literal[
    "create",
    "observed",
    "add_columns",
    "alter",
    "version",
    "keys",
    "model",
    "truncate",
    "truncate_partitions",
    "renamed",
    "moved",
    "drop",
    "unsupported",
    "rows_not_logged",
    "temporary",
    "declared",
    "schema",
    "rewound",
    "seeded",
    "told",
]
"""`create`: the table begins here, empty, so it is complete; `observed`: rows of a table whose
beginning was not seen; `add_columns`: columns were added, existing rows hold `defaults`; `alter`:
its columns are others, by `columns`, or its key is; `version`: rows from here on are in this one of
silver's tables, nothing else changes; `keys`: the key may be another, which the next table map
tells; `model`: only what DDL tells besides is another; `truncate`: it is empty from here on;
`truncate_partitions`: it has none of `rows` then, their partitions were dropped or emptied;
`renamed`: it has the rows that `other` had; `moved`: its rows are those of `other` from here on,
and it ends; `drop`: the table ends; `unsupported`: it changed in a way that is not applied, for
`reason`; `rows_not_logged`: it stays what it is, but its rows became others, for `reason`;
`temporary`: a connection has had a table of its name for itself, which does nothing to it;
`declared`: conf or the server defines it, and no row of it was seen since (without a definition: it
ended before one was); `schema`: that of its name, which has no table, has the charset of `model`;
`rewound`: what is known of the table begins anew, what was told before counts no more; `seeded`:
its rows are those of a `seed` from here on, with what the log says of them behind that; `told`: a
statement was about a table, or all of a schema, of which nothing is known, or which is held: only
seeds depend on it."""

NOT_OF_GOLD = ("temporary", "declared", "schema", "told")
"""Items that only what comes after them in the log depends on."""

NOBODYS = ("schema", "told", "declared")
"""Items that do not make a table the source's: another one may have it in the same lake."""

Position = tuple[int, int]
"""LSN of the transaction, and byte offset of the event in its file."""


@dataclass(frozen=True, slots=True)
class ColumnStep:
    """Where a column of a changed table has its values from, in the rows that were there before.

    `old` is the column of before, whose values are converted as `convert` says (see
    `pipeline.catalog.alter.conversions`; None: not at all). Without `old` it is new, and all rows
    hold `text`, which is like that of `TimelineItem.defaults`, or what `generated` gives for them
    (`pipeline.catalog.alter.generated`), converted.
    """

    name: str
    old: str | None = None
    convert: str | None = None
    text: str | None = None
    generated: str | None = None


@dataclass(frozen=True, slots=True)
class SeededFrom:
    """The rows that a table had at a place in the log: those of `id` in the lake's seeds.

    They are of after the transaction at `lsn` and before the next one, if they are `exact`; else of
    any time between that and the item, one row for each key.
    """

    id: str
    lsn: int
    exact: bool


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """One item. From (`lsn`, `pos`) on the table's rows are in silver's `v<version>`.

    `definition` is the table's from here on, from DDL or from a table map (a `version` or
    `observed` item's is always a table map's). `defaults` holds, for `add_columns`, the text of
    each new column's value in existing rows (`pipeline.catalog.ddl.defaults.python_value` reads
    it). `columns` has, for `alter`, a step for each column in order; without it only the key
    changes. `model` is what DDL tells besides, `other` the second table of a rename, `rows` are
    those of `truncate_partitions`. A `seeded` item's `seed` tells where its rows are, and its
    `reason` why they may not be all that the source had.
    """

    lsn: int
    pos: int
    schema: str
    table: str
    kind: ItemKind
    version: int | None = None
    definition: TableDefinition | None = None
    defaults: dict[str, str | None] | None = None
    statement: str | None = None
    reason: str | None = None
    columns: tuple[ColumnStep, ...] | None = None
    model: TableModel | None = None
    other: TableName | None = None
    rows: PartitionRows | None = None
    seed: SeededFrom | None = None

    @property
    def name(self) -> TableName:
        """The table."""
        return TableName(self.schema, self.table)

    @property
    def position(self) -> Position:
        """Where in the log."""
        return self.lsn, self.pos

    def to_dict(self) -> dict[str, Any]:
        """A row of `ledger/definitions`, and the form that plans keep: definitions as JSON text."""
        return {
            "lsn": self.lsn,
            "pos": self.pos,
            "schema": self.schema,
            "table": self.table,
            "kind": self.kind,
            "version": self.version,
            "definition": self.definition.to_json() if self.definition else None,
            "defaults": None if self.defaults is None else json.dumps(self.defaults),
            "statement": self.statement,
            "reason": self.reason,
            "columns": json.dumps([asdict(c) for c in self.columns]) if self.columns else None,
            "model": self.model.to_json() if self.model else None,
            "other": None if self.other is None else json.dumps(asdict(self.other)),
            "rows": None if self.rows is None else json.dumps(asdict(self.rows)),
            "seed": None if self.seed is None else json.dumps(asdict(self.seed)),
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> TimelineItem:
        """The item that `to_dict` gave. Other keys are passed over."""
        fields: dict[str, Any] = {f.name: row[f.name] for f in dataclass_fields(cls)}
        for name, read in _READERS.items():
            fields[name] = None if fields[name] is None else read(fields[name])
        return cls(**fields)


def in_force(items: Iterable[TimelineItem]) -> list[TimelineItem]:
    """The items, as they were written, without those that a `rewound` has taken back."""
    found: list[TimelineItem] = []
    for item in items:
        if item.kind == "rewound":
            found = [other for other in found if other.name != item.name]
        else:
            found.append(item)
    return found


_READERS: dict[str, Callable[[str], Any]] = {
    "definition": TableDefinition.from_json,
    "defaults": json.loads,
    "columns": TypeAdapter(tuple[ColumnStep, ...]).validate_json,
    "model": TableModel.from_json,
    "other": TypeAdapter(TableName).validate_json,
    "rows": TypeAdapter(PartitionRows).validate_json,
    "seed": TypeAdapter(SeededFrom).validate_json,
}
"""From the text of `to_dict`."""
