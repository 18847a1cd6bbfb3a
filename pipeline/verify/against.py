"""Compare gold's tables with a server's: which differ, and in which keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, functions as sf

from pipeline.errors import SettingsError
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from pipeline.settings.settings import matches
from pipeline.verify.canonical import DATE, DATETIME
from pipeline.verify.checksums import (
    PublishedTable,
    SummedTable,
    TableChecksum,
    VerifiedSnapshot,
)
from pipeline.verify.chunks import Chunking, differing
from pipeline.verify.gold_table import keyed
from pipeline.verify.position import only_replicated, other_position
from pipeline.verify.server_file import ServerFile, ServerTable

KEYS = 1000
"""The most keys listed for one table."""
NAMED_CHUNKS = 1000
"""If more chunks differ, all of a table's rows are compared, so that the filter stays short."""
MISSING, EXTRA, DIFFERENT = "missing in gold", "in gold only", "different"


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """A key whose rows differ.

    `key`: the canonical texts of the key, or for a keyless table of the row, truncated. `source`
    and `gold`: the number of rows that only the server, or only gold, has.
    """

    key: tuple[str | None, ...]
    what: str
    source: int
    gold: int


@dataclass(frozen=True, slots=True)
class TableDifference:
    """A table that differs: `reason`, a sentence, and the keys that differ, if known.

    `count`: the number of differing keys, of which at most `KEYS` are listed; None if the file has
    no keys.
    """

    schema: str
    table: str
    reason: str
    count: int | None = None
    keys: tuple[KeyDifference, ...] = ()


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A table (`schema.table`) that could not be compared, or a pattern that matches none, and the
    reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing gold with a server's file.

    `position`: a sentence if the server's snapshot is at another position than gold's. `compared`:
    the number of tables compared. `notes`: reasons why a difference may not be one.
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
        """True if all tables, at least one, were compared and are equal at the same position."""
        known = self.compared > 0 and not self.not_compared
        return known and not self.position and not self.differences


def compare(
    run: LayerRun, snapshot: VerifiedSnapshot, ours: Sequence[SummedTable], file: ServerFile
) -> Comparison:
    """Compare the snapshot's tables with a server's file; `ours`: their sums by `chunkings`."""
    found = {TableName(table.total.schema, table.total.table): table for table in ours}
    both = [table for table in snapshot.tables if table.name in file.tables]
    notes = [*_notes(both, found, file), *_of_domains(run, snapshot, file)]
    changed = _changed(both, file)
    both = [table for table in both if file.tables[table.name].changed is None]
    apart = [*_not_in_both(run.settings, snapshot, file)]
    reported = [*(str(table.name) for table in both), *(one.name for one in changed)]
    reported += [f"{one.schema}.{one.table}" for one in apart]
    unmatched = _unmatched(snapshot.patterns, reported)
    differences = []
    for table in both:
        other = file.tables[table.name]
        _require_same_dates(table, file)
        if reason := _reason(table, found[table.name].total, other):
            differences.append(_difference(table, found[table.name], file, other, reason))
    return Comparison(
        file.server,
        file.at,
        other_position(run, snapshot, file),
        len(both),
        (*differences, *apart),
        tuple(notes),
        (*changed, *unmatched),
    )


def chunkings(snapshot: VerifiedSnapshot, file: ServerFile) -> dict[TableName, Chunking]:
    """Return the server's chunking of each table that can be compared."""
    return {
        table.name: other.chunking
        for table in snapshot.tables
        if (other := file.tables.get(table.name)) and tuple(table.columns) == other.columns
    }


def _require_same_dates(table: PublishedTable, file: ServerFile) -> None:
    """Raise SettingsError if gold and the file represent zero dates differently."""
    types = {field.name: field.dataType.typeName() for field in table.frame.schema.fields}
    dates = [c.name for c in table.columns if c.kind in (DATE, DATETIME)]
    kept = {"string" if types[name] == "string" else "null" for name in dates}
    if kept and kept != {file.zero_dates}:
        raise SettingsError(
            f"{table.name} has zero dates as {kept.pop()} in gold, but as {file.zero_dates} in the"
            " file.",
            key="against",
            remedy="Generate the file again with the other value of --zero-dates.",
        )


def _reason(table: PublishedTable, ours: TableChecksum, other: ServerTable) -> str:
    """Return why the two differ; empty if they are equal."""
    if tuple(table.columns) != other.columns:
        gold, server = (
            ", ".join(f"{c.name} {c.kind}" for c in columns)
            for columns in (table.columns, other.columns)
        )
        return f"its columns are {gold} in gold, and {server} on the server."
    if (ours.rows, ours.checksum) != (other.rows, other.checksum):
        return f"gold has {ours.rows} rows, the server {other.rows}; the checksums differ."
    return ""


def _difference(
    table: PublishedTable, ours: SummedTable, file: ServerFile, other: ServerTable, reason: str
) -> TableDifference:
    """Compare a table row by row, only in the chunks that differ unless they are many."""
    name = table.name
    if tuple(table.columns) != other.columns:
        return TableDifference(name.schema, name.table, reason)
    if not other.keys:
        reason = f"{reason} Generate the file again without --no-keys to see which rows differ."
        return TableDifference(name.schema, name.table, reason)
    found = differing(ours.chunks, other.chunks)
    chunks = found if len(found) <= NAMED_CHUNKS else None
    gold = keyed(table.frame, table.columns, other.chunking, chunks)
    unequal = _unequal(gold, file.rows(other, chunks), other.key)
    rows = unequal.orderBy("key", "hash").limit(KEYS).collect()
    # Computed again only if there are many: serverless compute does not allow caching.
    count = len(rows) if len(rows) < KEYS else unequal.count()
    keys = tuple(_key_difference(row["key"], row["source"], row["gold"]) for row in rows)
    return TableDifference(name.schema, name.table, reason, count, keys)


def _unequal(gold: DataFrame, server: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return a row for each differing key, with the number of rows only the server or gold has.

    Rows of a keyless table are grouped by their hash too, since their text may be truncated.
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
    settings: Settings, snapshot: VerifiedSnapshot, file: ServerFile
) -> Iterator[TableDifference]:
    """Yield the tables that only gold or only the server has."""
    gold = {table.name: table for table in snapshot.tables}
    for name in sorted(file.tables.keys() - gold.keys()):
        if settings.wanted(name.schema, name.table) and matches(str(name), snapshot.patterns):
            yield TableDifference(name.schema, name.table, "it is missing in gold.")
    for name in sorted(gold.keys() - file.tables.keys()):
        wanted = settings.wanted(name.schema, name.table) and matches(str(name), file.patterns)
        if wanted and not gold[name].state.dropped:
            yield TableDifference(name.schema, name.table, "it is missing on the server.")


def _changed(both: Sequence[PublishedTable], file: ServerFile) -> list[NotCompared]:
    """Return the tables in both that could not be read on the server."""
    names = sorted(table.name for table in both)
    return [
        NotCompared(str(name), f"it was altered or locked while the server was read ({reason}).")
        for name in names
        if (reason := file.tables[name].changed) is not None
    ]


def _unmatched(patterns: Sequence[str], reported: Sequence[str]) -> list[NotCompared]:
    """Return the given patterns that match none of the reported tables."""
    return [
        NotCompared(pattern, "no table to compare matches the pattern.")
        for pattern in patterns
        if not any(matches(name, [pattern]) for name in reported)
    ]


def _of_domains(run: LayerRun, snapshot: VerifiedSnapshot, file: ServerFile) -> Iterator[str]:
    if others := only_replicated(run, snapshot, file):
        yield (
            f"ignored {others}: the server has replicated them, but neither its own log nor the"
            " lake has their domains, so they are taken to be from an unrelated primary."
        )


def _notes(
    both: Sequence[PublishedTable], found: Mapping[TableName, SummedTable], file: ServerFile
) -> Iterator[str]:
    for table in both:
        total = found[table.name].total
        if total.held:
            held = table.state.held or "gold as a whole is held"
            yield f"{table.name} is held before the snapshot: {held}"
        elif not total.complete:
            yield f"{table.name} is not complete: {table.state.reason or 'rows are missing'}"
        if not file.tables[table.name].transactional:
            yield (
                f"{table.name}: its storage engine has no consistent snapshots; its rows may be"
                " from later than those of other tables."
            )
