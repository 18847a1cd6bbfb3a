"""`gold/_cascades`: changes by foreign keys that the log does not contain, in silver's form.

They are computed from gold's rows before a batch and stored before its plan, under a name that is
their hash: whichever run carries out the plan reads the same changes, whatever is in gold by then.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from decoder import TableDefinition, TypeOptions, schemas
from decoder.columns import row_type
from pipeline.errors import BinlakeError
from pipeline.gold.cascades.replay import Cascaded
from pipeline.gold.changes.changes import CHANGE_COLUMNS, PARTIAL_COLUMNS, ROW_STEPS
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.schema_history import TableName

CASCADES = pa.schema(
    [
        pa.field("source", pa.string()),
        # Of the plan to which they belong
        pa.field("name", pa.string()),
        pa.field("schema", pa.string()),
        pa.field("table", pa.string()),
        # silver's v<N> that contains the table's other changes in this range
        pa.field("version", pa.int32()),
        pa.field("rows", pa.int64()),
        # An Arrow IPC stream of `changes_schema`
        pa.field("content", pa.binary()),
    ]
)
_BLOB_ROWS = 20_000


def cascades_table(lake: Lake) -> LakeTable:
    """Return the table of all sources' cascades."""
    return LakeTable(lake.cascades, CASCADES, statistics=("source", "name"))


CascadedChanges = Mapping[tuple[TableName, int], pa.Table]
"""Changes by table and silver's version."""


def changes_schema(definition: TableDefinition, types: TypeOptions) -> pa.Schema:
    """Return the schema of silver's columns that gold reads; `__row` counts in `ROW_STEPS`."""
    whole = schemas.changes(row_type(definition, types))
    wide = {"__row": pa.int64()}
    return pa.schema(
        [
            pa.field(name, wide.get(name, whole.field(name).type))
            for name in (*CHANGE_COLUMNS, *PARTIAL_COLUMNS)
        ]
    )


def as_changes(
    cascaded: Iterable[Cascaded], definition: TableDefinition, types: TypeOptions
) -> pa.Table:
    """Return one table's changes in silver's form; images leave out unchanged columns."""
    names = [column.name for column in definition.columns]
    rows = [_row(one, names) for one in cascaded]
    return pa.Table.from_pylist(rows, schema=changes_schema(definition, types))


def _row(one: Cascaded, names: list[str]) -> dict[str, Any]:
    lsn, pos, row = one.place
    after = one.after
    return {
        "__op": "delete" if after is None else "update",
        "__lsn": lsn,
        "__pos": pos,
        "__row": row * ROW_STEPS + one.number,
        "__committed_at": one.committed_at,
        "before": {name: one.before.get(name) for name in names},
        "after": None if after is None else {name: after.get(name) for name in names},
        "__absent_before": [name for name in names if name not in one.before] or None,
        "__absent_after": None
        if after is None
        else [name for name in names if name not in after] or None,
        "__json_diff": None,
    }


class MissingCascadesError(BinlakeError):
    """Raised if the cascades of a plan are not in the table where they were stored."""

    def __init__(self, table: str, name: str) -> None:
        super().__init__(
            f"{table} does not contain the foreign key cascades of gold's open plan ({name}).",
            remedy="Restore the table to a version that contains them. Binlake does not remove them"
            " before the plan is finished.",
        )


def keep(spark: Spark, lake: Lake, source: str, batch: int, changes: CascadedChanges) -> str | None:
    """Store the changes of a batch's plan; return their name, or None if there are none.

    The name depends on the batch, since the cascades of finished batches may have been removed.
    """
    blobs = list(_blobs(changes))
    if not blobs:
        return None
    name = hashlib.sha256(repr((source, batch, blobs)).encode()).hexdigest()
    rows = [{"source": source, "name": name, **blob} for blob in blobs]
    step = Step(f"gold/{source}/_cascades/{name}", 1)
    found = pa.Table.from_pylist(rows, schema=CASCADES)
    tables_of(spark, lake).append(cascades_table(lake), found, step)
    return name


def _blobs(changes: CascadedChanges) -> Iterator[dict[str, Any]]:
    for (table, version), rows in changes.items():
        for batch in rows.to_batches(max_chunksize=_BLOB_ROWS):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield {
                "schema": table.schema,
                "table": table.table,
                "version": version,
                "rows": batch.num_rows,
                "content": sink.getvalue().to_pybytes(),
            }


def kept(spark: Spark, lake: Lake, name: str | None) -> CascadedChanges:
    """Return the changes stored under this name. Raises MissingCascadesError."""
    if name is None:
        return {}
    rows = tables_of(spark, lake).read(cascades_table(lake), equal("name", name)).to_pylist()
    if not rows:
        raise MissingCascadesError(lake.cascades, name)
    found: dict[tuple[TableName, int], list[pa.Table]] = defaultdict(list)
    for row in rows:
        table = TableName(row["schema"], row["table"])
        with pa.ipc.open_stream(row["content"]) as stream:
            found[table, row["version"]].append(stream.read_all())
    return {key: pa.concat_tables(tables) for key, tables in found.items()}
