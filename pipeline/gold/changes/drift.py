"""Drift: rows that differ from the log's before images at the time a change is applied.

Either the source was changed outside its log (sql_log_bin=0, a restored table), or gold is wrong.
Every change states what its row was: absent (an insert), or its before image. That is compared with
what the previous change of the same key left or, for a key's first change, with gold's row.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from functools import reduce
from typing import Any
from zlib import crc32

from pyspark.sql import Column, DataFrame, Window, functions as sf

from pipeline.gold.changes.fold import Shape, image, key_changed
from pipeline.lake.sql_text import quoted

MAX_CHANGES = 100_000
"""Parts with more changes than this are checked only with `drift: full`."""
TURNS = 6
"""About a sixth of a batch's tables are checked, others in each batch: a check takes half as long
as applying the changes, and may take up a tenth of the time."""
SMALL_BATCH_TABLES = 4
"""Batches of up to this many small tables are checked completely: the overhead dominates there."""
_HAD, _HAS, _ORDER, _BEFORE = (
    "__binlake_had",
    "__binlake_has",
    "__binlake_order",
    "__binlake_before",
)
_GOLD = "__binlake_gold"


@dataclass(frozen=True, slots=True)
class Drift:
    """Counts of a drift check: changes `checked`, and those whose row was `missing`, `extra` (there
    before its insert), or `different` (from its before image)."""

    checked: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0

    def __add__(self, other: Drift) -> Drift:
        return Drift(*map(operator.add, astuple(self), astuple(other)))

    def __sub__(self, other: Drift) -> Drift:
        return Drift(*map(operator.sub, astuple(self), astuple(other)))

    @property
    def found(self) -> int:
        """Number of changes for which the row was not the expected one."""
        return self.missing + self.extra + self.different

    @classmethod
    def of(cls, record: Mapping[str, Any] | None) -> Drift:
        """Read a drift from the form that `asdict` returns."""
        return cls(**(record or {}))


@dataclass(frozen=True, slots=True)
class DriftSample:
    """The parts of a batch that are checked for drift, and the findings by table.

    `most`: parts with more changes are not checked (None: all are). `batch`: the batch's number, if
    only some tables are checked in each; with `unless_small`, small tables with small changes
    always are. A batch begun by another run is not checked, since changes that are already applied
    would look like drift.
    """

    most: int | None = None
    batch: int | None = None
    unless_small: bool = False
    found: dict[str, Drift] = field(default_factory=dict)

    def is_due(self, table: str, count: int, *, small: bool) -> bool:
        """Return True if this many changes of this table are to be checked in this batch."""
        if self.most is not None and count > self.most:
            return False
        if self.batch is None or (small and self.unless_small):
            return True
        return crc32(f"{table} {self.batch}".encode()) % TURNS == 0


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """The drift check of one table, part by part."""

    sample: DriftSample
    table: str

    def is_due(self, count: int, *, small: bool) -> bool:
        """Return True if a part with this many changes is checked; `small`: gold's table is."""
        return self.sample.is_due(self.table, count, small=small)

    def at(self, part: DataFrame, shape: Shape, gold: DataFrame) -> None:
        """Check a part's changes before they are applied (see `drift`)."""
        self.add(drift(part, shape, gold))

    def add(self, more: Drift) -> None:
        """Add findings."""
        found = self.sample.found
        found[self.table] = found.get(self.table, Drift()) + more


def drift_sample(chosen: bool | str, batch: int, tables: int, *, fresh: bool) -> DriftSample | None:
    """Return the sample that the settings request for a batch that touches `tables` tables.

    `fresh`: this run planned the batch, and nothing of it has been applied yet.
    """
    if not chosen or not fresh:
        return None
    if chosen == "full":
        return DriftSample()
    return DriftSample(MAX_CHANGES, batch, unless_small=tables <= SMALL_BATCH_TABLES)


def in_all(before: Mapping[str, Any] | None, found: Mapping[str, Drift]) -> dict[str, Any]:
    """Return the totals by table, as records store them: those so far plus the new findings."""
    drifts = {table: Drift.of(entry) for table, entry in (before or {}).items()}
    for table, more in found.items():
        drifts[table] = drifts.get(table, Drift()) + more
    return {table: asdict(drifts[table]) for table in sorted(drifts)}


def sentences(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[str]:
    """Return sentences for the user on the drift that a run has found."""
    found = []
    for table, entry in (after or {}).items():
        more = Drift.of(entry) - Drift.of((before or {}).get(table))
        if more.found:
            found.append(
                f"{table}: for {more.found} of {more.checked} checked changes, gold's row was"
                f" not the one that the log expects ({more.missing} missing, {more.extra}"
                f" unexpected, {more.different} different). Probably the source was changed"
                " outside its log (sql_log_bin=0, a restore). binlake verify --against server lists"
                " the keys; seed the table to correct it."
            )
    return found


def drift(changes: DataFrame, shape: Shape, gold: DataFrame) -> Drift:
    """Compare changes that are not applied yet with each other and with `gold`.

    Their images must be complete. `gold` has at least every row whose key they contain.
    """
    at_key = Window.partitionBy(*_keys(shape)).orderBy(_ORDER)
    events = _events(changes, shape).withColumn(_BEFORE, sf.lag(sf.struct(_HAS)).over(at_key))
    first, had = sf.col(_BEFORE).isNull(), sf.col(_HAD)
    left = sf.col(_BEFORE)[_HAS]
    in_log = events.agg(
        sf.count("*"),
        # Until gold is searched, the rows of first changes count as missing.
        sf.count_if(had.isNotNull() & (first | left.isNull())),
        sf.count_if(had.isNull() & left.isNotNull()),
        sf.count_if(had != left),
    )
    met = _met_in_gold(events.where(first), shape, gold)
    in_gold = met.agg(
        sf.lit(0).cast("bigint"),
        -sf.count_if(had.isNotNull()),
        sf.count_if(had.isNull()),
        sf.count_if(had != sf.col(_GOLD)),
    )
    counts = zip(*in_log.union(in_gold).collect(), strict=True)
    return Drift(*(max(sum(each), 0) for each in counts))


def _met_in_gold(events: DataFrame, shape: Shape, gold: DataFrame) -> DataFrame:
    """Return keys' first changes with the hashes of gold's rows at these keys, if any."""
    same = (
        sf.col(quoted(name)).eqNullSafe(sf.col(key))
        for name, key in zip(shape.key, _keys(shape), strict=True)
    )
    joined = gold.join(events.select(*_keys(shape), _HAD), reduce(Column.__and__, same))
    return joined.select(_HAD, _hash([sf.col(quoted(n)) for n in shape.columns]).alias(_GOLD))


def _keys(shape: Shape) -> list[str]:
    return [f"__binlake_key{n}" for n in range(len(shape.key))]


def _events(changes: DataFrame, shape: Shape) -> DataFrame:
    """Return, for each change and key, hashes of the row before and after."""
    moved = key_changed(shape.key)
    insert, delete = (sf.col("__op") == op for op in ("insert", "delete"))
    had, has = (
        _hash([image(side, name) for name in shape.columns]) for side in ("before", "after")
    )
    order = sf.struct("__lsn", "__pos", "__row").alias(_ORDER)
    nothing = sf.lit(None).cast("bigint")

    def events(side: str, which: Column, was: Column, becomes: Column) -> DataFrame:
        named = zip(shape.key, _keys(shape), strict=True)
        key = (image(side, name).alias(to) for name, to in named)
        return changes.where(which).select(*key, order, was.alias(_HAD), becomes.alias(_HAS))

    stays = sf.when(delete | moved, nothing).otherwise(has)
    return events("before", ~insert, had, stays).unionByName(
        events("after", insert | moved, nothing, has)
    )


def _hash(columns: list[Column]) -> Column:
    """Return a hash of all columns; Spark's ignores NULLs, so their positions are hashed too."""
    return sf.xxhash64(*columns, *(column.isNull() for column in columns))
