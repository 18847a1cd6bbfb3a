"""What a table looked like when a row of it was logged: the result of reading one TABLE_MAP.

A definition is a value: frozen, comparable, and with a JSON form, since the pipeline's plans keep
it. Two TABLE_MAPs that differ only in the table's id have the same definition.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from decoder.constants import ColumnType


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column, with the type that the server stores (ENUM and SET told apart from STRING).

    `length` is in bytes: the maximum of CHAR, VARCHAR, BINARY, VARBINARY; the packed bytes of ENUM
    and SET; for BIT the number of bits. `length_bytes` is the size of the length prefix before a
    value of variable length (0: fixed length). `fraction` is the number of digits after the second
    of TIME, DATETIME, TIMESTAMP. `collation` is MySQL's collation id (63: binary), for character
    columns, ENUM and SET.
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
    collation: int | None = None
    labels: tuple[str, ...] = ()
    geometry_type: int | None = None
    dimension: int | None = None
    visible: bool = True


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table's columns in the log's order, and its primary key as indexes into them.

    `complete_metadata` tells whether the log held names and keys (`binlog_row_metadata=FULL`).
    `primary_key_prefixes` holds, in the key's order, 0 or the prefix length in characters.
    """

    schema: str
    table: str
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[int, ...] = ()
    primary_key_prefixes: tuple[int, ...] = ()
    complete_metadata: bool = True

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"

    def to_json(self) -> str:
        """A JSON object that `from_json` reads back, with keys in a fixed order."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> TableDefinition:
        """The definition that `to_json` wrote."""
        fields = json.loads(text)
        columns = tuple(
            ColumnDefinition(**{**c, "type": ColumnType(c["type"]), "labels": tuple(c["labels"])})
            for c in fields.pop("columns")
        )
        return cls(
            **{
                **fields,
                "columns": columns,
                "primary_key": tuple(fields["primary_key"]),
                "primary_key_prefixes": tuple(fields["primary_key_prefixes"]),
            }
        )

    def fingerprint(self) -> str:
        """A short hash of the definition, the same on every machine."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]
