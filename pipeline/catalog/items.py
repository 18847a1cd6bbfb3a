"""The timeline's items: what happened to a table, where in the log, and what it is from then on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields as dataclass_fields
from typing import Any, Literal

from decoder.definition import TableDefinition
from pipeline.catalog.effects import TableName

ItemKind = Literal["create", "observed", "add_columns", "version", "drop", "unsupported"]
"""`create`: the table begins here, empty, so it is complete; `observed`: rows of a table whose
beginning was not seen; `add_columns`: columns were added, existing rows hold `defaults`;
`version`: rows from here on are in this one of silver's tables, nothing else changes; `drop`: the
table ends; `unsupported`: it changed in a way that is not applied, for `reason`."""

Position = tuple[int, int]
"""LSN of the transaction, and byte offset of the event in its file."""


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """One item. From (`lsn`, `pos`) on the table's rows are in silver's `v<version>`.

    `definition` is the table's from here on, from DDL or from a table map (a `version` or
    `observed` item's is always a table map's). `defaults` holds, for `add_columns`, the text of
    each new column's value in existing rows (`pipeline.catalog.defaults.python_value` reads it).
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
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> TimelineItem:
        """The item that `to_dict` gave; keys that are not an item's are passed over."""
        fields = {field.name: row[field.name] for field in dataclass_fields(cls)}
        definition, defaults = fields["definition"], fields["defaults"]
        return cls(
            **{
                **fields,
                "definition": TableDefinition.from_json(definition) if definition else None,
                "defaults": None if defaults is None else json.loads(defaults),
            }
        )
