"""Find the published snapshot of a given moment in `gold/_cuts`, whose columns are defined here.

Uses no Spark if delta-rs can read the lake. `publication` writes the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.bronze.tables import files_table
from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.tables.tables import Tables
from pipeline.settings.until import Until
from pipeline.silver.decode.decode import OFFSET_BITS

TABLES = pa.list_(
    pa.struct(
        [
            pa.field("schema", pa.string()),
            pa.field("table", pa.string()),
            # a path, or a name in the catalog
            pa.field("path", pa.string()),
            # null while there is no gold table
            pa.field("delta_id", pa.string()),
            pa.field("delta_version", pa.int64()),
            pa.field("held", pa.bool_()),
            pa.field("complete", pa.bool_()),
        ]
    )
)
CUTS = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("batch", pa.int64()),
        # of the last transaction that is applied
        pa.field("lsn", pa.int64()),
        # of all transactions up to it that the lake has, in the server's notation (MariaDB's:
        # the last of every domain and server); null if the log has no GTIDs
        pa.field("gtid_set", pa.string()),
        pa.field("committed_at", pa.timestamp("us", "UTC")),
        pa.field("tables", TABLES),
    ]
)
_TRANSACTIONS = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("__lsn", pa.int64()),
        pa.field("end_pos", pa.int64()),
        pa.field("gtid", pa.string()),
    ]
)
"""The columns of silver's transactions that place one of them in the log."""


def cuts_table(lake: Lake) -> LakeTable:
    """Return the table of all sources' published snapshots."""
    return LakeTable(lake.cuts, CUTS, statistics=("source", "batch", "lsn"))


@dataclass(frozen=True, slots=True)
class CutRow:
    """A row of `gold/_cuts`; `tables` are entries of `TABLES`."""

    source: str
    batch: int
    lsn: int
    gtid_set: str | None
    committed_at: datetime | None
    tables: tuple[Mapping[str, Any], ...]


def find_cut(tables: Tables, source: str | None = None, at: Until | None = None) -> CutRow:
    """Return the last published snapshot, or the last one that has nothing later than `at`.

    `source`: required if the lake has snapshots of several. Raises SettingsError (of `lake`,
    `source` or `at`) if there is no such snapshot.
    """
    lake = tables.lake
    where = None if source is None else equal("source", source)
    columns = ("source", "batch", "lsn", "committed_at")
    found = tables.read(cuts_table(lake), where, columns).to_pylist()
    source = _only_source(lake, {row["source"] for row in found}, source)
    if at is None:
        chosen = max(found, key=lambda row: row["batch"])
    else:
        has_nothing_later = _filter_of(tables, source, at)
        # Latest first: snapshots that a full refresh has published again replace earlier ones.
        found.sort(key=lambda row: (row["lsn"], row["batch"]), reverse=True)
        earlier = next(filter(has_nothing_later, found), None)
        if earlier is None:
            raise _too_early(source, at, found[-1])
        chosen = earlier
    where = equal("source", source) & equal("batch", chosen["batch"])
    (row,) = tables.read(cuts_table(lake), where).to_pylist()
    return CutRow(**{**row, "tables": tuple(row["tables"])})


def _only_source(lake: Lake, published: set[str], source: str | None) -> str:
    if not published:
        whose = "" if source is None else f" of {source}"
        raise SettingsError(
            f"{lake.root} has no published snapshot{whose}.",
            key="lake" if source is None else "source",
            remedy="Give the folder that binlake run was given, and the source's name; binlake"
            " status lists the lake's sources.",
        )
    if source is None and len(published) > 1:
        names = ", ".join(sorted(published))
        reason = f"{lake.root} has snapshots of several sources: {names}."
        raise SettingsError(reason, key="source", remedy="Name one of them.")
    return source if source is not None else next(iter(published))


def _filter_of(tables: Tables, source: str, at: Until) -> Callable[[Mapping[str, Any]], bool]:
    """Return a test for the snapshots that have nothing later than `at`."""
    if at.time is not None:
        latest = at.time
        return lambda row: row["committed_at"] is not None and row["committed_at"] <= latest
    if at.place is not None:
        return _ends_before(tables, source, *at.place)
    last = at.lsn if at.lsn is not None else _lsn_of(tables, source, at)
    return lambda row: row["lsn"] <= last


def _lsn_of(tables: Tables, source: str, at: Until) -> int:
    """Return the LSN of the transaction; of the last one if its GTID was reused (after RESET)."""
    where = equal("source", source) & equal("gtid", at.gtid or "")
    found = tables.read(_transactions_table(tables.lake), where, ["__lsn"])
    lsn = pc.max(found.column("__lsn")).as_py()
    if lsn is None:
        raise SettingsError(
            f"{at.text} is not in silver.",
            key="at",
            remedy="Name another transaction, a time or an LSN: binlake run may not have"
            " reached it, or maintenance has removed it.",
        )
    return int(lsn)


def _ends_before(
    tables: Tables, source: str, file: str, position: int
) -> Callable[[Mapping[str, Any]], bool]:
    """Return a test for the snapshots whose last transaction ends at or before a position."""
    where = equal("source", source) & equal("file", file)
    files = tables.read(files_table(tables.lake), where, ["ordinal"])
    ordinal = pc.max(files.column("ordinal")).as_py()
    if ordinal is None:
        reason = f"{file} is not a file of {source} in this lake."
        raise SettingsError(reason, key="at", remedy="Name one that was ingested.")
    place = ordinal << OFFSET_BITS | position

    def ends_before(row: Mapping[str, Any]) -> bool:
        lsn = row["lsn"]
        if lsn >= place or lsn >> OFFSET_BITS < ordinal:
            return bool(lsn < place)
        last = equal("source", source) & equal("__lsn", lsn)
        ends = tables.read(_transactions_table(tables.lake), last, ["end_pos"])
        end = pc.max(ends.column("end_pos")).as_py()
        # A transaction of unknown end ends after its beginning.
        return end is None or bool(end <= position)

    return ends_before


def _transactions_table(lake: Lake) -> LakeTable:
    return LakeTable(lake.transactions, _TRANSACTIONS, statistics=("source", "__lsn"))


def _too_early(source: str, at: Until, first: Mapping[str, Any]) -> SettingsError:
    committed_at = first["committed_at"]
    when = f", committed at {committed_at.isoformat()}" if committed_at else ""
    return SettingsError(
        f"{source} has no published snapshot at or before {at.text}; the first one is at LSN"
        f" {first['lsn']}{when}.",
        key="at",
        remedy="Name a later moment. binlake maintain keeps snapshots for retention.cuts, 7 days by"
        " default.",
    )
