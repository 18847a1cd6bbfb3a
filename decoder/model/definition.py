"""A table's definition at the time a row of it was logged, as read from one TABLE_MAP.

Definitions are immutable values with a JSON form, which the pipeline's plans store. TABLE_MAPs that
differ only in the table id have equal definitions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from decoder.constants import ColumnType, LogicalType
from decoder.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column, with the type that the server stores (ENUM and SET are distinct from STRING).

    `length`: in bytes, the maximum of CHAR, VARCHAR, BINARY and VARBINARY, and the stored size of
    ENUM and SET; for BIT the number of bits.
    `length_bytes`: the size of the length prefix of a variable-length value; 0 for a fixed length.
    `fraction`: fractional second digits of TIME, DATETIME and TIMESTAMP. Unknown if
    `fraction_logged` is False: with `mysql56_temporal_format=OFF`, MariaDB stores formats of its
    own under the type codes that MySQL used before 5.6.4.
    `collation`: MySQL's collation id (63: binary) of character columns, ENUM and SET.
    `logical`: the type of the values if it differs from `type`, which is then only their storage.
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
        """Raise UnsupportedError if `fraction`, and so the size of a value, is unknown."""
        if not self.fraction_logged:
            raise UnsupportedError(
                f"column {self.name} is a {self.type.name} in MariaDB's old storage format"
                " (mysql56_temporal_format=OFF), and the log does not contain the size of its"
                " values; run ALTER TABLE … FORCE with mysql56_temporal_format=ON on the source:"
                " rows logged after that are decoded"
            )


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table's columns in the log's order, and its primary key as indexes into them.

    `primary_key_prefixes`: for each column of the key, 0 or the prefix length in characters.
    `complete_metadata`: the log contained names and keys (`binlog_row_metadata=FULL`).
    `named`: the columns have their real names, from the log or elsewhere; else `c1`, `c2`, ….
    `signedness_logged`: the log contained the columns' `unsigned`.
    `hidden`: columns that no SELECT returns, each with its index in `logged`: those of functional
    indexes (which the first releases of MySQL 8.0 log) and of MariaDB's UNIQUE keys on BLOBs.
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
        """The columns of the row images, including hidden ones."""
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
        """The names of the primary key's columns, in key order; empty if there is no key."""
        return tuple(self.columns[i].name for i in self.primary_key)

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"

    def to_json(self) -> str:
        """Return a JSON object for `from_json`, with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> TableDefinition:
        """Return the definition that `to_json` wrote."""
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
        """Return a short hash of the definition, the same on every machine."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]


Names = Callable[[TableDefinition, int, int], TableDefinition]
"""(definition in a TABLE_MAP without names, LSN, position) to the definition with names."""


def _column(fields: dict[str, Any]) -> ColumnDefinition:
    kind, labels = ColumnType(fields["type"]), tuple(fields["labels"])
    logical = None if fields["logical"] is None else LogicalType(fields["logical"])
    return ColumnDefinition(**{**fields, "type": kind, "labels": labels, "logical": logical})
