"""`gold/_cuts`: the states that gold can be read in, one row for each commit it was brought to.

A row names every table's Delta version: read together, they are the source as it was then, but for
those that the row says are held or not complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.bronze.gtids import GtidSet
from pipeline.catalog.effects import TableName
from pipeline.gold.facts import Facts
from pipeline.gold.names import gold_name
from pipeline.gold.state import GoldState, TableState
from pipeline.gold.written import Written, written_since
from pipeline.settings import Settings

TABLES = pa.list_(
    pa.struct(
        [
            pa.field("schema", pa.string()),
            pa.field("table", pa.string()),
            # a path, or a name in the catalog
            pa.field("path", pa.string()),
            # null where there is no gold table (yet)
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
        # of all transactions up to it that the lake has, as the server writes it (MariaDB's:
        # the last of every domain and server); null where the log has no GTIDs
        pa.field("gtid_set", pa.string()),
        pa.field("committed_at", pa.timestamp("us", "UTC")),
        pa.field("tables", TABLES),
    ]
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A published cut, as gold's ledger records it: the next one is built on it.

    `committed_at` is in microseconds since 1970; `tables` are entries of `TABLES`.
    """

    gtid_set: str | None = None
    committed_at: int | None = None
    tables: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any] | None) -> Cut:
        """The cut in a batch's record; the empty one where there is none yet."""
        return cls(**record["cut"]) if record else cls()


@dataclass(frozen=True, slots=True)
class Published:
    """A cut, and what was written since the one before, by `schema.table`."""

    cut: Cut
    written: Mapping[str, Written]


def published(record: Mapping[str, Any] | None) -> dict[TableName, int]:
    """Delta's versions of the tables in the cut that a batch's record has."""
    return {
        TableName(entry["schema"], entry["table"]): entry["delta_version"]
        for entry in Cut.of(record).tables
        if entry["delta_id"] is not None
    }


def published_at(
    record: Mapping[str, Any] | None, before: int, upto: int, facts: Facts
) -> str | None:
    """When the last commit of a cut was published, which reaches from `before` up to that LSN.

    A cut without a commit that is newer shows what the one before did: it keeps that one's time.
    Else logs that the lake had already would seem to lag by the time that the source was idle.
    """
    if record is None or (before < upto and facts.last_lsn is not None and before < facts.last_lsn):
        return datetime.now(timezone.utc).isoformat()
    at: str | None = record.get("published_at")
    return at


def publish(
    spark: SparkSession,
    settings: Settings,
    state: GoldState,
    facts: Facts,
    before: Cut,
    batch: int,
    looking: SparkSession,
) -> Published:
    """Append the cut of a plan whose tables are all applied; none as long as a full refresh goes on
    behind it.

    `facts` reach from the cut before, or further back, up to this one. `looking` is the session in
    which tables are asked what was written.
    """
    entries = _entries(looking, settings, state, before)
    cut = Cut(
        str(gtids_at(before, facts)) or None,
        before.committed_at if facts.committed_at is None else facts.committed_at,
        [entry for entry, _ in entries],
    )
    done = {f"{e['schema']}.{e['table']}": figures for e, figures in entries if figures}
    if state.rebuild.under_way:
        return Published(cut, done)
    row = {"source": settings.source, "batch": batch, "lsn": state.cut_lsn, **asdict(cut)}
    frame = spark.createDataFrame(pa.Table.from_pylist([row], schema=CUTS))
    app = f"gold/{settings.source}/_cuts"
    delta.append_once(frame.coalesce(1), settings.layout.cuts, app=app, version=batch)
    return Published(cut, done)


def gtids_at(before: Cut, facts: Facts) -> GtidSet:
    """Those of the cut before, and those that `facts` tell of.

    What MariaDB's numbers came to last counts, also where RESET let them begin anew.
    """
    known = GtidSet.of(before.gtid_set)
    runs = (f"{source}:{first}-{last}" for source, first, last in facts.gtids)
    added = GtidSet.of(*runs, *facts.server_ends)
    return GtidSet((known | added).intervals, {**known.last, **added.last})


def _entries(
    spark: SparkSession, settings: Settings, state: GoldState, before: Cut
) -> list[tuple[dict[str, Any], Written | None]]:
    """Every table's entry, and what was written; one that the batch did not touch is as it was in
    the cut before."""
    known = {(entry["schema"], entry["table"]): entry for entry in before.tables}

    def entry(table: TableState) -> tuple[dict[str, Any], Written | None]:
        path = gold_name(settings, table.schema, table.table)
        last = known.get((table.schema, table.table))
        delta_id = last["delta_id"] if last else None
        since = last["delta_version"] if last else None
        delta_version = since if delta_id else None
        done = None
        # Without a version of its own, what is at the path is not the source's table, unless it was
        # that before: one that begins unknown is emptied.
        if table.touched if delta_id else table.version is not None:
            delta_id, delta_version, done = _version(spark, path, delta_id, since)
        told = {
            "schema": table.schema,
            "table": table.table,
            "path": path,
            "delta_id": delta_id,
            "delta_version": delta_version,
            "held": state.holds(table) is not None or table.to_lsn < state.cut_lsn,
            "complete": table.complete,
        }
        return told, done

    tables = [state.tables[name] for name in sorted(state.tables)]
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        return list(pool.map(entry, tables))


def _version(
    spark: SparkSession, path: str, delta_id: str | None, before: int | None
) -> tuple[str | None, int | None, Written | None]:
    """A table's id, if it is not known, its latest version, and what was written since `before`.

    Nothing where there is no table.
    """
    found = delta.found(spark, path)
    if found is None:
        return None, None, None
    return delta_id or found.id, *written_since(spark, path, before)
