"""`ledger/runs`: the records of runs, a row each, in partitions by day.

A record is appended without a transaction identifier (see `Tables.append`): it has its run's own
id, and is written once. Its day decides everything else: what is too old goes as whole partitions,
of which no row is read (`pipeline.maintenance`), and a reader looks at the last days first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from pipeline.lake.delta_log.conditions import ALL_ROWS, Condition, among, compare, equal
from pipeline.lake.delta_log.table import LakeTable
from pipeline.lake.layout import Lake
from pipeline.lake.ledger.run_record import RUNS, RunRecord
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of

WINDOWS = (2, 32, None)
"""Days to look back for what is asked: more are looked at only if it is not in these."""
_STATISTICS = ("source", "command")
_LOOKS_FOR_CHANGES = ~among("command", ("maintain", "seed"))


def runs(lake: Lake) -> LakeTable:
    """The lake's table."""
    # Of every record, the table's log keeps these and no more: there is a file for each run.
    properties = {"delta.dataSkippingStatsColumns": ",".join(_STATISTICS)}
    return LakeTable(lake.ledger("runs"), RUNS, ("day",), _STATISTICS, properties)


def append_run(spark: Spark, lake: Lake, record: RunRecord) -> None:
    """Keep a record: one commit."""
    tables_of(spark, lake).append(runs(lake), to_arrow(record), None)


def to_arrow(record: RunRecord) -> pa.Table:
    """The record as the table's one row."""
    row = {name: _as_arrow(value) for name, value in record.to_row().items()}
    return pa.Table.from_pylist([row], schema=RUNS)


def read_runs(
    spark: Spark, lake: Lake, *, source: str | None = None, last: int = 20
) -> list[RunRecord]:
    """The last runs that were started, of a source or of all, the newest first."""
    tables, own = tables_of(spark, lake), ALL_ROWS if source is None else equal("source", source)
    found: list[RunRecord] = []
    for days in WINDOWS:
        rows = tables.read(runs(lake), own & _since(days))
        found = from_arrow(rows.sort_by([("started_at", "descending")]).slice(0, last))
        if len(found) == last:
            break
    return found


def last_runs(spark: Spark, lake: Lake) -> dict[str, RunRecord]:
    """The last run of each source that looked for changes, however long ago it was."""
    each = ("source", "command")
    rows = tables_of(spark, lake).last(runs(lake), "day", each, 1, _LOOKS_FOR_CHANGES)
    return {record.source: record for record in from_arrow(rows.sort_by("started_at"))}


def _since(days: int | None) -> Condition:
    if days is None:
        return ALL_ROWS
    today = datetime.now(timezone.utc).date()
    return compare("day", ">", today - timedelta(days=days))


def from_arrow(rows: pa.Table) -> list[RunRecord]:
    """Read records back from the table's rows."""
    return [_RECORD.validate_python(row) for row in rows.to_pylist(maps_as_pydicts="strict")]


_RECORD = TypeAdapter(RunRecord)


def _as_arrow(value: Any) -> Any:
    """A map as Arrow takes it."""
    return list(value.items()) if isinstance(value, Mapping) else value
