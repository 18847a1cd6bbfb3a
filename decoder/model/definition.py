"""What a table looked like when a row of it was logged: the result of reading one TABLE_MAP.

A definition is a value: frozen, comparable, and with a JSON form, since the pipeline's plans keep
it. Two TABLE_MAPs that differ only in the table's id have the same definition.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from decoder.constants import ColumnType, LogicalType
from decoder.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column, with the type that the server stores (ENUM and SET told apart from STRING).

    `length` is in bytes: the maximum of CHAR, VARCHAR, BINARY, VARBINARY; the packed bytes of ENUM
    and SET; for BIT the number of bits. `length_bytes` is the size of the length prefix before a
    value of variable length (0: fixed length). `fraction` is the number of digits after the second
    of TIME, DATETIME, TIMESTAMP, and not known without `fraction_logged`: MariaDB has forms of its
    own for them (`mysql56_temporal_format=OFF`) under the types of before MySQL 5.6.4. `collation`
    is MySQL's collation id (63: binary), for character columns, ENUM and SET. `logical` is what the
    values mean if that is not `type`, which then tells only how they are stored.
    """

    name: str
    type: ColumnType
    nullable: bool = True
    unsigned: bool = False
    length: int = 0
    length_bytes: int = 0
    precision: int = 0
    scale: int = 0
    fraction: int = 0
    fraction_logged: bool = True
    collation: int | None = None
    labels: tuple[str, ...] = ()
    geometry_type: int | None = None
    dimension: int | None = None
    visible: bool = True
    logical: LogicalType | None = None

    def require_fraction(self) -> None:
        """UnsupportedError where `fraction` is not known, and so not how long a value is."""
        if not self.fraction_logged:
            raise UnsupportedError(
                f"column {self.name} is a {self.type.name} of MariaDB's old format"
                " (mysql56_temporal_format=OFF), and the log does not tell how long its values are;"
                " rows are read from an ALTER TABLE … FORCE with mysql56_temporal_format=ON on"
            )


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table's columns in the log's order, and its primary key as indexes into them.

    `hidden` are those that no SELECT gives: what the server keeps for functional indexes (the first
    releases of MySQL 8.0 log them) and MariaDB for UNIQUE keys on BLOBs; each with its place in the
    row images, where they stand among the others (`logged`).
    `complete_metadata` tells whether the log held names and keys (`binlog_row_metadata=FULL`),
    `named` whether columns have their names, from the log or from elsewhere (else they are `c1`,
    `c2`, …), `signedness_logged` whether `unsigned` is told.
    `primary_key_prefixes` holds, in the key's order, 0 or the prefix length in characters.
    """

    schema: str
    table: str
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[int, ...] = ()
    primary_key_prefixes: tuple[int, ...] = ()
    complete_metadata: bool = True
    named: bool = True
    signedness_logged: bool = True
    hidden: tuple[tuple[int, ColumnDefinition], ...] = ()

    @property
    def logged(self) -> tuple[ColumnDefinition, ...]:
        """The columns of the row images, hidden ones too."""
        columns = list(self.columns)
        for place, column in self.hidden:
            columns.insert(place, column)
        return tuple(columns)

    @property
    def places(self) -> tuple[int, ...]:
        """For each of `columns`, its index in `logged`."""
        hidden = {place for place, _ in self.hidden}
        count = len(self.columns) + len(hidden)
        return tuple(place for place in range(count) if place not in hidden)

    @property
    def key(self) -> tuple[str, ...]:
        """The names of the primary key's columns, in its order; empty where there is none."""
        return tuple(self.columns[i].name for i in self.primary_key)

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"

    def to_json(self) -> str:
        """A JSON object that `from_json` reads back, with keys in a fixed order."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> TableDefinition:
        """The definition that `to_json` wrote."""
        fields = json.loads(text)
        return cls(
            **{
                **fields,
                "columns": tuple(_column(column) for column in fields["columns"]),
                "hidden": tuple((place, _column(column)) for place, column in fields["hidden"]),
                "primary_key": tuple(fields["primary_key"]),
                "primary_key_prefixes": tuple(fields["primary_key_prefixes"]),
            }
        )

    def fingerprint(self) -> str:
        """A short hash of the definition, the same on every machine."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]


def _column(fields: dict[str, Any]) -> ColumnDefinition:
    kind, labels = ColumnType(fields["type"]), tuple(fields["labels"])
    logical = None if fields["logical"] is None else LogicalType(fields["logical"])
    return ColumnDefinition(**{**fields, "type": kind, "labels": labels, "logical": logical})
