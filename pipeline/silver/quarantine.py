"""`silver/quarantine`: what could not be decoded, or must not be applied, and why.

A row holds the tables it names just before its transaction, or, naming none, everything, until
`resolved_batch` tells which later batch took it up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf

from decoder.faults import STATEMENT_DML
from pipeline import delta
from pipeline.catalog.consequences import TOLD_BY, Consequences
from pipeline.catalog.ddl import Session
from pipeline.catalog.definitions import read_items
from pipeline.catalog.effects import TableName
from pipeline.lake import Lake
from pipeline.report import one_for_each_cause
from pipeline.settings import Settings
from pipeline.silver.decode import (
    FAULTS,
    OFFSET_BITS,
    STAGED_FAULTS,
    Wanted,
    of_wanted_tables,
)
from pipeline.silver.plan import Retried
from pipeline.silver.segments import SegmentRef
from pipeline.silver.staging import Staging
from pipeline.sql_text import in_sql, literal

RETRYABLE = ("undecodable", "unsupported", "lossy_key")
"""Kinds of faults that a later decoder, or other settings, may not give again."""
DEFINITION = "definition"
"""The kind of what the timeline cannot follow."""
GIVEN_UP = "given_up"
"""The kind of what is missing before a file, where conf accepts it: it holds nothing, and no table
of before equals the source's from there on."""
NO_FAULTS = ("partial_image",)
"""Kinds that lakes of older releases have, of what is applied now."""
WAY_BACK = (
    "To replicate such a table again, create it anew with its rows, in a session with"
    " binlog_format=ROW: RENAME TABLE t TO t_old; CREATE TABLE t (…); INSERT INTO t SELECT * FROM"
    " t_old. What its triggers, routines and foreign keys of before the log change is not known."
)
"""For rows that changed by a statement: the log does not tell them."""
Place = tuple[int, int, int | None]
"""Ordinal and start of a segment, and the LSN of a transaction in it."""
SHOWN = 20
"""How many faults a run's report spells out."""


def append_faults(
    staging: Staging,
    settings: Settings,
    batch: int,
    targets: Sequence[str],
    planned: Sequence[Mapping[str, Any]],
    *,
    again: bool = False,
) -> list[str]:
    """Append the staged faults of some targets and those of a plan; sentences about the first.

    `again`: what is staged was decoded before, so that most of its faults are in quarantine.
    """
    lake, source = settings.layout, settings.source
    frames = [staging.unpacked(target, STAGED_FAULTS) for target in targets]
    open_ = unresolved(staging.spark, lake, source) if again else None
    if open_ is not None:
        frames = [_not_told(frame, open_) for frame in frames]
    if planned:
        frames.append(_frame(staging.spark, planned))
    if not frames:
        return []
    found = reduce(DataFrame.unionByName, frames)
    rows = _with_consequences(staging.spark, settings, found)
    placed = rows.select(
        sf.lit(source).alias("source"),
        sf.lit(batch).alias("batch"),
        "*",
        sf.lit(None).cast("bigint").alias("resolved_batch"),
    )
    delta.append_once(placed, lake.quarantine, app=f"silver/{source}/quarantine", version=batch)
    return sentences(staging.spark, lake, source, batch)


def _not_told(faults: DataFrame, open_: DataFrame) -> DataFrame:
    """Without those that are in quarantine from when the same was decoded before."""
    same = ("__lsn", "__pos", "kind")
    told = open_.select(*(sf.col(name).alias(f"_{name}") for name in same))
    matches = [sf.col(name).eqNullSafe(sf.col(f"_{name}")) for name in same]
    return faults.join(told, reduce(Column.__and__, matches), "left_anti")


def _with_consequences(spark: SparkSession, settings: Settings, faults: DataFrame) -> DataFrame:
    """The faults, with what statements change besides the tables that they name, of those that
    are wanted."""
    is_statement = sf.col("kind") == STATEMENT_DML
    if faults.where(is_statement & sf.col("tables").isNotNull()).isEmpty():
        return faults
    lake, source = settings.layout, settings.source
    items = read_items(spark, lake, source)
    named = faults.where(is_statement).select(sf.explode("tables").alias("name")).distinct()
    left_out = {TableName.read(row["name"]) for row in named.collect()}
    told = logged_consequences(spark, lake, source)
    found = told.of({item.name for item in items}, left_out)
    if not found:
        return _of_wanted(faults, settings.wanted)
    pairs = [part for name, names in found.items() for part in (sf.lit(name), _texts(names))]
    known = sf.create_map(*pairs)
    each = sf.transform("tables", lambda name: sf.coalesce(known[name], sf.array(name)))
    tables = sf.when(is_statement, sf.array_distinct(sf.flatten(each))).otherwise(sf.col("tables"))
    return _of_wanted(faults.withColumn("tables", tables), settings.wanted)


def _of_wanted(faults: DataFrame, wanted: Wanted) -> DataFrame:
    def filtered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (of_wanted_tables(batch, wanted) for batch in batches)

    return faults.mapInArrow(filtered, faults.schema)


def _texts(values: Sequence[str]) -> Column:
    return sf.array(*map(sf.lit, values))


def logged_consequences(spark: SparkSession, lake: Lake, source: str) -> Consequences:
    """What the statements that silver has tell of foreign keys, triggers and routines."""
    consequences = Consequences()
    rows = delta.read(spark, lake.statements).where(
        (sf.col("source") == source) & sf.col("query").rlike(TOLD_BY)
    )
    for row in rows.select("query", "schema", "sql_mode").collect():
        consequences.note(row["query"], Session(row["schema"], row["sql_mode"] or 0))
    return consequences


def _frame(spark: SparkSession, faults: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Faults that the timeline found: they are in the segment of their file that holds them."""
    rows = [
        {
            **fault,
            "content": (fault["content"] or "").encode(),
            "ordinal": fault["__lsn"] >> OFFSET_BITS,
        }
        for fault in faults
    ]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=STAGED_FAULTS))


def given_up(accepted: Iterable[tuple[SegmentRef, str]]) -> list[dict[str, Any]]:
    """Rows of quarantine for what is missing before segments, where conf accepts it."""
    return [
        {
            "__lsn": ref.ordinal << OFFSET_BITS | ref.start_pos,
            "__pos": ref.start_pos,
            "file": ref.file,
            "kind": GIVEN_UP,
            "event_type": None,
            "tables": None,
            "reason": f"what is missing before it was given up: {gap}",
            "content": None,
        }
        for ref, gap in accepted
    ]


def sentences(spark: SparkSession, lake: Lake, source: str, batch: int) -> list[str]:
    """What a batch put into quarantine, in words."""
    rows = delta.read(spark, lake.quarantine).where(
        (sf.col("source") == source) & (sf.col("batch") == batch) & (sf.col("kind") != GIVEN_UP)
    )
    ordered = rows.orderBy("__lsn", "__pos").drop("content")
    of_one = (sf.col("kind") == DEFINITION) & (sf.size("tables") == 1)
    # Few, if any, for each table: those of one cause are one sentence.
    alone = [(row["tables"][0], sentence(row.asDict())) for row in ordered.where(of_one).collect()]
    found = one_for_each_cause(alone, lambda _, sentence: sentence)
    others = rows.where(~sf.coalesce(of_one, sf.lit(False)))
    first = others.orderBy("__lsn", "__pos").drop("content").limit(SHOWN + 1).collect()
    found += [sentence(row.asDict()) for row in first[:SHOWN]]
    if len(first) > SHOWN:
        found.append(f"{others.count() - SHOWN} more faults are in {lake.quarantine}.")
    return found


def sentence(fault: Mapping[str, Any]) -> str:
    """One fault in words: where, what, which table is held for it and which wait for that one."""
    if fault["kind"] == GIVEN_UP:
        return f"{fault['file']}: {fault['reason']} Tables of before are not complete any more."
    tables = fault["tables"]
    held = "all tables" if tables is None else _held(fault)
    kind = f"{fault['event_type']}: " if fault["event_type"] else ""
    way_back = f" {WAY_BACK}" if fault["kind"] == STATEMENT_DML else ""
    return (
        f"{fault['file']}, position {fault['__pos']}: {kind}{fault['reason']}."
        f" Held before it: {held}.{way_back}"
    )


def is_in_first(fault: Mapping[str, Any]) -> bool:
    """Whether a fault is in the first of its tables, and the others wait for that one."""
    tables = fault["tables"]
    return bool(tables) and str(fault["reason"]).startswith(f"{tables[0]}: ")


def _held(fault: Mapping[str, Any]) -> str:
    cause, *waiting = fault["tables"]
    if not waiting or not is_in_first(fault):
        return ", ".join(fault["tables"])
    return (
        f"{cause}, and, since the same transaction changes them too, {', '.join(waiting)}"
        f" (waiting for {cause})"
    )


def unresolved(spark: SparkSession, lake: Lake, source: str) -> DataFrame | None:
    """The quarantine's rows that nothing has taken up yet; None where there never was one."""
    if not delta.exists(spark, lake.quarantine):
        return None
    rows = delta.read(spark, lake.quarantine).where(~sf.col("kind").isin(*NO_FAULTS))
    return rows.where((sf.col("source") == source) & sf.col("resolved_batch").isNull())


def retryable(spark: SparkSession, lake: Lake, source: str) -> tuple[Retried, ...]:
    """Segments with transactions that another decoder might decode."""
    rows = unresolved(spark, lake, source)
    if rows is None:
        return ()
    found = (
        rows.where(sf.col("kind").isin(*RETRYABLE) & sf.col("__lsn").isNotNull())
        .groupBy("ordinal", "start_pos")
        .agg(sf.collect_set("__lsn").alias("lsns"))
        .where("start_pos IS NOT NULL")
        .collect()
    )
    held = [Retried(r["ordinal"], r["start_pos"], tuple(sorted(r["lsns"]))) for r in found]
    return tuple(sorted(held, key=lambda r: (r.ordinal, r.start_pos)))


def supersede(
    spark: SparkSession, lake: Lake, source: str, batch: int, seeds: Mapping[str, int]
) -> None:
    """Mark what the timeline could not follow of tables before the LSNs of their `seeds`: nothing
    depends on it from a seed on."""
    open_ = unresolved(spark, lake, source)
    if open_ is None or not seeds:
        return
    passed = " OR ".join(
        f"(tables[0] = {literal(name)} AND __lsn <= {lsn})" for name, lsn in sorted(seeds.items())
    )
    condition = f"kind = '{DEFINITION}' AND size(tables) = 1 AND ({passed})"
    if open_.where(condition).isEmpty():
        return
    update = (
        f"UPDATE {in_sql(lake.quarantine)} SET resolved_batch = {batch}"
        f" WHERE source = {literal(source)} AND resolved_batch IS NULL AND {condition}"
    )
    delta.execute_once(
        spark, update, lake.quarantine, app=f"silver/{source}/resolved", version=batch
    )


def still_faulty(staging: Staging, counts: Mapping[str, int], wanted: Wanted) -> set[Place]:
    """Where decoding again gave a fault again."""
    if not counts.get(FAULTS):
        return set()
    found = _of_wanted(staging.unpacked(FAULTS, STAGED_FAULTS), wanted)
    rows = found.select("ordinal", "start_pos", "__lsn")
    return {(r["ordinal"], r["start_pos"], r["__lsn"]) for r in rows.distinct().collect()}


def resolve(
    spark: SparkSession,
    lake: Lake,
    source: str,
    batch: int,
    retried: Sequence[Retried],
    remaining: set[Place],
    named: Collection[str] = (),
) -> None:
    """Mark what a batch took up, except where the fault remains.

    What the timeline told of tables that are `named` now is told anew, as far as it still is so.
    """
    done = {
        (r.ordinal, r.start_pos): [
            lsn for lsn in r.lsns if (r.ordinal, r.start_pos, lsn) not in remaining
        ]
        for r in retried
    }
    among = " OR ".join(
        f"(ordinal = {ordinal} AND start_pos = {start} AND __lsn IN ({', '.join(map(str, lsns))}))"
        for (ordinal, start), lsns in done.items()
        if lsns
    )
    if not among and not named:
        return
    kinds = ", ".join(f"'{kind}'" for kind in RETRYABLE)
    taken_up = f"kind IN ({kinds}) AND ({among or 'false'})"
    told_anew = "false"
    if named:
        names = ", ".join(map(literal, sorted(named)))
        told_anew = (
            f"kind = '{DEFINITION}' AND batch < {batch}"
            f" AND size(tables) = 1 AND tables[0] IN ({names})"
        )
    update = (
        f"UPDATE {in_sql(lake.quarantine)} SET resolved_batch = {batch}"
        f" WHERE source = {literal(source)} AND resolved_batch IS NULL"
        f" AND (({taken_up}) OR ({told_anew}))"
    )
    delta.execute_once(
        spark, update, lake.quarantine, app=f"silver/{source}/resolved", version=batch
    )
