"""Gold's tables against a server's: which differ, and in which keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.catalog import TableName
from pipeline.errors import SettingsError
from pipeline.settings import Settings
from pipeline.verify.canonical import DATE, DATETIME
from pipeline.verify.checksums import (
    GoldTable,
    PublishedCut,
    SummedTable,
    TableChecksum,
    matches,
)
from pipeline.verify.chunks import Chunking, differing
from pipeline.verify.gold_table import keyed
from pipeline.verify.server_file import ServerFile, ServerTable
from pipeline.verify.state_match.position import only_replicated, other_position

KEYS = 1000
"""The most keys of one table that are named."""
NAMED_CHUNKS = 1000
"""Of more chunks than that all of a table's rows are looked at: a condition is to be short."""
MISSING, EXTRA, DIFFERENT = "missing in gold", "in gold only", "different"


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """A key whose rows differ; `key` has its canonical texts (without a key: the row's, cut).

    `source` and `gold` are how many rows each has that the other has not.
    """

    key: tuple[str | None, ...]
    what: str
    source: int
    gold: int


@dataclass(frozen=True, slots=True)
class TableDifference:
    """A table that differs: `reason` in a sentence, and its keys as far as they are known.

    `count` is of all such keys, of which `KEYS` are named; None where the file has no keys.
    """

    schema: str
    table: str
    reason: str
    count: int | None = None
    keys: tuple[KeyDifference, ...] = ()


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A table that should have been compared, by `schema.table`, or a pattern that has none, and
    why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing with a server's file gave; `notes` tell what makes it uncertain.

    `position`: a sentence if the snapshot is not of gold's cut. `compared`: how many tables were.
    """

    server: str
    at: str
    position: str
    compared: int
    differences: tuple[TableDifference, ...]
    notes: tuple[str, ...]
    not_compared: tuple[NotCompared, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether all tables were compared, one at least, and are equal, at the same place."""
        known = self.compared > 0 and not self.not_compared
        return known and not self.position and not self.differences


def compare(
    spark: SparkSession,
    settings: Settings,
    cut: PublishedCut,
    ours: Sequence[SummedTable],
    file: ServerFile,
) -> Comparison:
    """Compare the cut's tables, which come to `ours` by `chunkings`, with a server's file."""
    found = {TableName(table.told.schema, table.told.table): table for table in ours}
    both = [table for table in cut.tables if table.name in file.tables]
    notes = [*_notes(both, found, file), *_of_domains(spark, settings, cut, file)]
    changed = _changed(both, file)
    both = [table for table in both if file.tables[table.name].changed is None]
    apart = [*_not_in_both(settings, cut, file)]
    told = [*(str(table.name) for table in both), *(one.name for one in changed)]
    told += [f"{one.schema}.{one.table}" for one in apart]
    unmatched = _unmatched(cut.patterns, told)
    differences = []
    for table in both:
        other = file.tables[table.name]
        _require_same_dates(table, file)
        if reason := _reason(table, found[table.name].told, other):
            differences.append(_difference(table, found[table.name], file, other, reason))
    return Comparison(
        file.server,
        file.at,
        other_position(spark, settings.layout, cut, file),
        len(both),
        (*differences, *apart),
        tuple(notes),
        (*changed, *unmatched),
    )


def chunkings(cut: PublishedCut, file: ServerFile) -> dict[TableName, Chunking]:
    """How the tables are parted that can be compared: as the server's are."""
    return {
        table.name: other.chunking
        for table in cut.tables
        if (other := file.tables.get(table.name)) and tuple(table.columns) == other.columns
    }


def _require_same_dates(table: GoldTable, file: ServerFile) -> None:
    """Raises SettingsError where gold keeps zero dates otherwise than the file tells them."""
    types = {field.name: field.dataType.typeName() for field in table.frame.schema.fields}
    dates = [c.name for c in table.columns if c.kind in (DATE, DATETIME)]
    kept = {"string" if types[name] == "string" else "null" for name in dates}
    if kept and kept != {file.zero_dates}:
        raise SettingsError(
            f"{table.name} keeps zero dates as {kept.pop()}, the file has them as"
            f" {file.zero_dates}.",
            key="against",
            remedy="Make it again with another --zero-dates.",
        )


def _reason(table: GoldTable, ours: TableChecksum, other: ServerTable) -> str:
    """Why the two are not equal, or nothing."""
    if tuple(table.columns) != other.columns:
        gold, server = (
            ", ".join(f"{c.name} {c.kind}" for c in columns)
            for columns in (table.columns, other.columns)
        )
        return f"its columns are {gold}; on the server {server}."
    if (ours.rows, ours.checksum) != (other.rows, other.checksum):
        return f"it has {ours.rows} rows, the server {other.rows}; the checksums differ."
    return ""


def _difference(
    table: GoldTable, ours: SummedTable, file: ServerFile, other: ServerTable, reason: str
) -> TableDifference:
    """Only rows of chunks that differ are looked at, unless they are many."""
    name = table.name
    if tuple(table.columns) != other.columns:
        return TableDifference(name.schema, name.table, reason)
    if not other.keys:
        reason = f"{reason} The file has no keys: make it without --no-keys to see which."
        return TableDifference(name.schema, name.table, reason)
    found = differing(ours.chunks, other.chunks)
    chunks = found if len(found) <= NAMED_CHUNKS else None
    gold = keyed(table.frame, table.columns, other.chunking, chunks)
    unequal = _unequal(gold, file.rows(other, chunks), other.key)
    rows = unequal.orderBy("key", "hash").limit(KEYS).collect()
    # Looked at once more only where they are many: serverless compute lets nothing be kept.
    count = len(rows) if len(rows) < KEYS else unequal.count()
    keys = tuple(_key_difference(row["key"], row["source"], row["gold"]) for row in rows)
    return TableDifference(name.schema, name.table, reason, count, keys)


def _unequal(gold: DataFrame, server: DataFrame, key: Sequence[str]) -> DataFrame:
    """One row for each key, with how many rows of it only the server has, and only gold.

    Without a key, equal rows are one key: its text may be cut, but not its hash.
    """
    both = gold.withColumn("n", sf.lit(-1)).unionByName(server.withColumn("n", sf.lit(1)))
    net = both.groupBy("key", "hash").agg(sf.sum("n").alias("n")).where(sf.col("n") != 0)
    by = sf.lit("") if key else sf.col("hash")
    return net.groupBy("key", by.alias("hash")).agg(
        sf.sum(sf.greatest("n", sf.lit(0))).alias("source"),
        sf.sum(-sf.least("n", sf.lit(0))).alias("gold"),
    )


def _key_difference(key: str, source: int, gold: int) -> KeyDifference:
    what = DIFFERENT if source and gold else MISSING if source else EXTRA
    return KeyDifference(tuple(json.loads(key)), what, source, gold)


def _not_in_both(
    settings: Settings, cut: PublishedCut, file: ServerFile
) -> Iterator[TableDifference]:
    """Tables that gold should have, or the server."""
    gold = {table.name: table for table in cut.tables}
    for name in sorted(file.tables.keys() - gold.keys()):
        if settings.wanted(name.schema, name.table) and matches(name, cut.patterns):
            yield TableDifference(name.schema, name.table, "it is not in gold.")
    for name in sorted(gold.keys() - file.tables.keys()):
        wanted = settings.wanted(name.schema, name.table) and matches(name, file.patterns)
        if wanted and not gold[name].state.dropped:
            yield TableDifference(name.schema, name.table, "it is not in the server's file.")


def _changed(both: Sequence[GoldTable], file: ServerFile) -> list[NotCompared]:
    """Of those in gold and on the server: which could not be read there as their turn came."""
    names = sorted(table.name for table in both)
    return [
        NotCompared(str(name), f"it was altered, or locked, while the server was read ({reason}).")
        for name in names
        if (reason := file.tables[name].changed) is not None
    ]


def _unmatched(patterns: Sequence[str], told: Sequence[str]) -> list[NotCompared]:
    """Patterns that were given, and are of none of the tables that are told of."""
    return [
        NotCompared(pattern, "no table of that pattern is there to be compared.")
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in told)
    ]


def _of_domains(
    spark: SparkSession, settings: Settings, cut: PublishedCut, file: ServerFile
) -> Iterator[str]:
    if others := only_replicated(spark, settings.layout, cut, file):
        yield (
            f"the server has replicated {others}, of domains that neither its own log nor the lake"
            " has: they are taken for another primary's."
        )


def _notes(
    both: Sequence[GoldTable], found: Mapping[TableName, SummedTable], file: ServerFile
) -> Iterator[str]:
    for table in both:
        told = found[table.name].told
        if told.held:
            yield f"{table.name} is held before the cut: {table.state.held or 'the cut is held'}"
        elif not told.complete:
            yield f"{table.name} is not complete: {table.state.reason or 'rows are missing'}"
        if not file.tables[table.name].transactional:
            yield f"{table.name}: its engine has no snapshots; rows may be of later than the rest."
