"""The table `ledger/runs`: one row per run, partitioned by day.

A record is appended without a transaction identifier (see `Tables.append`): it has its run's id,
and is written once. Maintenance removes old records as whole partitions, without reading rows
(`pipeline.maintenance`), and readers look at the last days first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from pipeline.lake.delta_log.conditions import ALL_ROWS, Condition, among, compare, equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.layout import Lake
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.run_record import RUNS, RunRecord
from pipeline.lake.tables.choice import tables_of

WINDOWS = (2, 32, None)
"""Days to look back: the next window is read only if the previous one does not suffice."""
_STATISTICS = ("source", "command", "outcome", "started_micros")
VERIFY = "verify"
"""The command of the records of comparisons with a server."""
CAPTURE = "capture"
"""The command and the layer of the records of a sync's captures."""
_LOOKS_FOR_CHANGES = ~among("command", ("maintain", "seed", VERIFY, CAPTURE))
_FIGURES = [name for name in RUNS.names if name not in ("faults", "gaps", "notes")]


def runs(lake: Lake) -> LakeTable:
    """Return the table of the lake's run records."""
    # Few statistics keep the table's log small: each run adds a file.
    properties = {"delta.dataSkippingStatsColumns": ",".join(_STATISTICS)}
    return LakeTable(lake.ledger("runs"), RUNS, ("day",), _STATISTICS, properties)


def append_run(spark: Spark, lake: Lake, record: RunRecord) -> None:
    """Append a record, in one commit."""
    tables_of(spark, lake).append(runs(lake), to_arrow(record), None)


def to_arrow(record: RunRecord) -> pa.Table:
    """Return the record as an Arrow table of one row."""
    row = {name: _as_arrow(value) for name, value in record.to_row().items()}
    return pa.Table.from_pylist([row], schema=RUNS)


def read_runs(
    spark: Spark, lake: Lake, *, source: str | None = None, last: int = 20
) -> list[RunRecord]:
    """Return the last runs of a source or of all sources, the latest start first."""
    tables, own = tables_of(spark, lake), ALL_ROWS if source is None else equal("source", source)
    found: list[RunRecord] = []
    for days in WINDOWS:
        rows = tables.read(runs(lake), own & _since(days))
        found = from_arrow(rows.sort_by([("started_at", "descending")]).slice(0, last))
        if len(found) == last:
            break
    return found


def runs_since(
    spark: Spark, lake: Lake, days: int, *, source: str | None = None
) -> list[RunRecord]:
    """Return the runs of the last `days` days, today included, the latest start first.

    Their sentences are counted, but not read: thousands of runs may each have hundreds.
    """
    own = ALL_ROWS if source is None else equal("source", source)
    rows = tables_of(spark, lake).read(runs(lake), own & _since(days), _FIGURES)
    return from_arrow(rows.sort_by([("started_at", "descending")]))


def last_runs(spark: Spark, lake: Lake) -> list[RunRecord]:
    """Return each source's last run of each command that looks for changes (not maintain, seed,
    verify or capture), the latest start last."""
    return _last(spark, lake, _LOOKS_FOR_CHANGES)


def last_verifications(spark: Spark, lake: Lake) -> dict[str, RunRecord]:
    """Return each source's last comparison with a server, by source."""
    return {one.source: one for one in _last(spark, lake, equal("command", VERIFY))}


def _last(spark: Spark, lake: Lake, where: Condition) -> list[RunRecord]:
    each = ("source", "command")
    rows = tables_of(spark, lake).last(runs(lake), "started_micros", each, 1, where)
    return from_arrow(rows.sort_by("started_at"))


def last_runs_by_outcome(
    spark: Spark, lake: Lake, source: str, command: str | None = None
) -> list[RunRecord]:
    """Return the last run of each outcome, the latest start first, of a command or of each."""
    each, where = ("source", "command", "outcome"), equal("source", source)
    if command is not None:
        where &= equal("command", command)
    rows = tables_of(spark, lake).last(runs(lake), "started_micros", each, 1, where)
    return from_arrow(rows.sort_by([("started_at", "descending")]))


def _since(days: int | None) -> Condition:
    if days is None:
        return ALL_ROWS
    today = datetime.now(timezone.utc).date()
    return compare("day", ">", today - timedelta(days=days))


def from_arrow(rows: pa.Table) -> list[RunRecord]:
    """Return the records in rows of the table."""
    return [_RECORD.validate_python(row) for row in rows.to_pylist(maps_as_pydicts="strict")]


_RECORD = TypeAdapter(RunRecord)


def _as_arrow(value: Any) -> Any:
    """Return a mapping as the list of pairs that Arrow expects."""
    return list(value.items()) if isinstance(value, Mapping) else value
