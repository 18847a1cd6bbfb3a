"""A small table that `NativeTables` writes, its rows, and how delta-rs itself reads it."""

from __future__ import annotations

import pyarrow as pa
from deltalake import DeltaTable

from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.tables.native import NativeTables

SCHEMA = pa.schema([("source", pa.string()), ("n", pa.int64()), ("text", pa.string())])


def rows(*numbers: int | None, source: str = "s", text: str | None = "x") -> pa.Table:
    given = [{"source": source, "n": number, "text": text} for number in numbers]
    return pa.Table.from_pylist(given, schema=SCHEMA)


def numbers(tables: NativeTables, table: LakeTable) -> list[int]:
    return sorted(tables.read(table).column("n").to_pylist())


def version(table: LakeTable) -> int:
    return DeltaTable(table.reference).version()


def paths(table: LakeTable) -> set[str]:
    return set(pa.table(DeltaTable(table.reference).get_add_actions()).column("path").to_pylist())
