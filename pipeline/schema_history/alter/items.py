"""Items of the timeline: what happened to a table, where in the log, and its new definition."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from pydantic import TypeAdapter

from decoder import TableDefinition
from pipeline.schema_history.ddl.effects import TableName
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.ddl.partitions import PartitionRows

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
    "mentioned",
]
"""The kinds, and what they mean from the item's position on:

- `create`: the table is created, empty, so it is complete.
- `observed`: rows are logged for a table whose creation was not seen.
- `add_columns`: columns are added; existing rows hold `defaults`.
- `alter`: its columns change (see `columns`), or its key does.
- `version`: rows are in this one of silver's tables; nothing else changes.
- `keys`: the key may have changed; the next table map settles it.
- `model`: only its DDL-only properties change.
- `truncate`: it is emptied.
- `truncate_partitions`: `rows` are removed with their partitions.
- `renamed`: it has the rows that `other` had.
- `moved`: its rows are those of `other`, and it ends.
- `drop`: the table is dropped.
- `unsupported`: it changed in a way that is not applied, for `reason`.
- `rows_not_logged`: its definition stays, but its rows changed without being logged, for `reason`.
- `temporary`: a connection created a temporary table of its name, which does not affect it.
- `declared`: the settings or the server define it, and no row of it has been logged since (without
  a definition: it ended before one was).
- `schema`: the default charset of the schema of its name, which has no table, is that of `model`.
- `rewound`: earlier items of the table no longer count; it is read again from here.
- `seeded`: its rows are those of a `seed`, plus later changes from the log.
- `mentioned`: a statement named a table, or every table of a schema, that is unknown or held; only
  seeds depend on it.
"""

KINDS_IGNORED_BY_GOLD = ("temporary", "declared", "schema", "mentioned")
"""Kinds that do not affect gold, only the interpretation of later items."""

UNOWNED_KINDS = ("schema", "mentioned", "declared")
"""Kinds that do not make a table the source's: another source of the lake may have it."""

Position = tuple[int, int]
"""LSN of the transaction, and byte offset of the event in its file."""


@dataclass(frozen=True, slots=True)
class ColumnStep:
    """The origin of a column's values in existing rows when a table is changed.

    `old` is the previous column, whose values are converted by `convert` (see
    `pipeline.schema_history.alter.conversions`; None: unchanged). Without `old` the column is new:
    all rows hold `text`, written as in `TimelineItem.defaults`, or the converted result of
    `generated` (`pipeline.schema_history.alter.generated`).
    """

    name: str
    old: str | None = None
    convert: str | None = None
    text: str | None = None
    generated: str | None = None


@dataclass(frozen=True, slots=True)
class SeededFrom:
    """The rows that a table had at a position of the log: seed `id` in the lake.

    If `exact`, they are the rows after the transaction at `lsn` and before the next; otherwise each
    key's row is from some time between `lsn` and the item.
    """

    id: str
    lsn: int
    exact: bool


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """One change of a table. From (`lsn`, `pos`) on, its rows are in silver's `v<version>`.

    `definition` is the table's from here on, from DDL or a table map (a `version` or `observed`
    item's is always from a table map). `defaults` has, for `add_columns`, each new column's value
    in existing rows as text (`pipeline.schema_history.ddl.defaults.python_value` parses it).
    `columns` has, for `alter`, a step per column in order; without it only the key changes. `model`
    has the DDL-only properties, `other` is the second table of a rename, `rows` are those of
    `truncate_partitions`. A `seeded` item's `seed` identifies its rows, and its `reason` says why
    they may be incomplete.
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
        """The table's qualified name."""
        return TableName(self.schema, self.table)

    @property
    def position(self) -> Position:
        """The position in the log."""
        return self.lsn, self.pos

    def to_dict(self) -> dict[str, Any]:
        """Return a row of `ledger/definitions`, also the form in plans."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        written = {n: write(row[n]) for n, (write, _) in _TEXTS.items() if row[n] is not None}
        return {**row, **written}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> TimelineItem:
        """Return the item of a row that `to_dict` returned; other keys are ignored."""
        values = {field.name: row[field.name] for field in fields(cls)}
        read = {n: parse(row[n]) for n, (_, parse) in _TEXTS.items() if row[n] is not None}
        return cls(**{**values, **read})


def in_force(items: Iterable[TimelineItem]) -> list[TimelineItem]:
    """Return the items, in order, without those that a `rewound` item invalidates."""
    found: list[TimelineItem] = []
    for item in items:
        if item.kind == "rewound":
            found = [other for other in found if other.name != item.name]
        else:
            found.append(item)
    return found


def _object(value: Any) -> str:
    return json.dumps(asdict(value))


def _objects(values: Iterable[Any]) -> str:
    return json.dumps([asdict(value) for value in values])


_TEXTS: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    "definition": (TableDefinition.to_json, TableDefinition.from_json),
    "defaults": (json.dumps, json.loads),
    "columns": (_objects, TypeAdapter(tuple[ColumnStep, ...]).validate_json),
    "model": (TableModel.to_json, TableModel.from_json),
    "other": (_object, TypeAdapter(TableName).validate_json),
    "rows": (_object, TypeAdapter(PartitionRows).validate_json),
    "seed": (_object, TypeAdapter(SeededFrom).validate_json),
}
"""Writers and parsers of fields that a row has as JSON."""
