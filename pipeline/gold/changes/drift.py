"""Drift: rows that were not what the log's before images say they were when it changed them.

The source was changed outside its log (sql_log_bin=0, a table restored), or gold is wrong. Every
change says what its row was: nothing (an insert), or its before image. What it was at that point is
what the change before it at the same key left, or, for a key's first change, what gold has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any
from zlib import crc32

from pyspark.sql import Column, DataFrame, Window, functions as sf

from pipeline.gold.changes.fold import Shape, image, key_changed
from pipeline.lake.sql_text import quoted

CHEAP = 100_000
"""Changes of a part that are looked at unless conf wants all."""
TURNS = 6
"""Of a batch's tables some sixth is looked at, others in each batch: to look costs half of what
applying the changes does, and may cost a tenth."""
ALL_OF = 4
"""Tables of a batch that are all looked at, if they are small: a batch's own work takes longer."""
_HAD, _HAS, _ORDER, _BEFORE = (
    "__binlake_had",
    "__binlake_has",
    "__binlake_order",
    "__binlake_before",
)
_GOLD = "__binlake_gold"


@dataclass(frozen=True, slots=True)
class Drift:
    """How many changes were looked at, and of how many the row was `missing` (not there), `extra`
    (there, although it was inserted), or `different` (another than its before image)."""

    checked: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0

    def __add__(self, other: Drift) -> Drift:
        return Drift(
            self.checked + other.checked,
            self.missing + other.missing,
            self.extra + other.extra,
            self.different + other.different,
        )

    def __sub__(self, other: Drift) -> Drift:
        return Drift(
            self.checked - other.checked,
            self.missing - other.missing,
            self.extra - other.extra,
            self.different - other.different,
        )

    @property
    def found(self) -> int:
        """How many changes did not find the row that they should have."""
        return self.missing + self.extra + self.different

    @classmethod
    def of(cls, record: Mapping[str, Any] | None) -> Drift:
        """Read a drift back from `asdict`'s form."""
        return cls(**(record or {}))


@dataclass(frozen=True, slots=True)
class Watch:
    """Looks for drift in what a batch applies, and keeps what it finds of each table.

    `most`: parts of more changes are not looked at (None: every part is); `batch`: its number, if
    some tables are looked at in each, `unless_small`: of those that are not small in gold and in
    what changes. A batch that another run began is not looked at, since what that has applied
    already would seem to have drifted.
    """

    most: int | None = None
    batch: int | None = None
    unless_small: bool = False
    found: dict[str, Drift] = field(default_factory=dict)

    def is_due(self, table: str, count: int, *, small: bool) -> bool:
        """Whether so many changes of this table are looked at in this batch."""
        if self.most is not None and count > self.most:
            return False
        if self.batch is None or (small and self.unless_small):
            return True
        return crc32(f"{table} {self.batch}".encode()) % TURNS == 0


@dataclass(frozen=True, slots=True)
class Look:
    """A watch's look at one table, a part at a time."""

    watch: Watch
    table: str

    def is_due(self, count: int, *, small: bool) -> bool:
        """Whether a part of so many changes is looked at; `small`: gold's table is."""
        return self.watch.is_due(self.table, count, small=small)

    def at(self, part: DataFrame, shape: Shape, gold: DataFrame) -> None:
        """Look at a part's changes before they are applied (see `drift`)."""
        found = self.watch.found
        found[self.table] = found.get(self.table, Drift()) + drift(part, shape, gold)


def watch(chosen: bool | str, batch: int, tables: int, *, fresh: bool) -> Watch | None:
    """What conf has of a batch that touches so many tables; `fresh`: this run planned it, and
    nothing of it is applied."""
    if not chosen or not fresh:
        return None
    if chosen == "full":
        return Watch()
    return Watch(CHEAP, batch, unless_small=tables <= ALL_OF)


def in_all(before: Mapping[str, Any] | None, found: Mapping[str, Drift]) -> dict[str, Any]:
    """What there was until now of each table, as records have it, with what was found."""
    drifts = {table: Drift.of(entry) for table, entry in (before or {}).items()}
    for table, more in found.items():
        drifts[table] = drifts.get(table, Drift()) + more
    return {table: asdict(drifts[table]) for table in sorted(drifts)}


def sentences(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[str]:
    """What a run found more, for the user."""
    told = []
    for table, entry in (after or {}).items():
        more = Drift.of(entry) - Drift.of((before or {}).get(table))
        if more.found:
            told.append(
                f"{table}: {more.found} of {more.checked} changes did not find the row that the log"
                f" says was there ({more.missing} missing, {more.extra} in the way,"
                f" {more.different} different): was the source changed outside its log?"
                " binlake verify shows what differs."
            )
    return told


def drift(changes: DataFrame, shape: Shape, gold: DataFrame) -> Drift:
    """Compare changes with whole images, none of them applied, with each other and with `gold`.

    `gold` has at least every row whose key they name.
    """
    at_key = Window.partitionBy(*_keys(shape)).orderBy(_ORDER)
    events = _events(changes, shape).withColumn(_BEFORE, sf.lag(sf.struct(_HAS)).over(at_key))
    first, had = sf.col(_BEFORE).isNull(), sf.col(_HAD)
    left = sf.col(_BEFORE)[_HAS]
    in_log = events.agg(
        sf.count("*"),
        # Until the rows are found, those of first changes are missing.
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
    """Keys' first changes with the hashes of gold's rows at these keys, where it has one."""
    same = (
        sf.col(quoted(name)).eqNullSafe(sf.col(key))
        for name, key in zip(shape.key, _keys(shape), strict=True)
    )
    joined = gold.join(events.select(*_keys(shape), _HAD), reduce(Column.__and__, same))
    return joined.select(_HAD, _hash([sf.col(quoted(n)) for n in shape.columns]).alias(_GOLD))


def _keys(shape: Shape) -> list[str]:
    return [f"__binlake_key{n}" for n in range(len(shape.key))]


def _events(changes: DataFrame, shape: Shape) -> DataFrame:
    """What each change says of its key, or of both of them: hashes of the row before and after."""
    key, moved = _keys(shape), key_changed(shape.key)
    insert, delete = (sf.col("__op") == op for op in ("insert", "delete"))
    had, has = (
        _hash([image(side, name) for name in shape.columns]) for side in ("before", "after")
    )
    order = sf.struct("__lsn", "__pos", "__row").alias(_ORDER)
    nothing = sf.lit(None).cast("bigint")
    leaving = changes.where(~insert).select(
        *(image("before", name).alias(k) for name, k in zip(shape.key, key, strict=True)),
        order,
        had.alias(_HAD),
        sf.when(delete | moved, nothing).otherwise(has).alias(_HAS),
    )
    coming = changes.where(insert | moved).select(
        *(image("after", name).alias(k) for name, k in zip(shape.key, key, strict=True)),
        order,
        nothing.alias(_HAD),
        has.alias(_HAS),
    )
    return leaving.unionByName(coming)


def _hash(columns: list[Column]) -> Column:
    """Of all columns; Spark's hash passes over NULLs, so where they are counts too."""
    return sf.xxhash64(*columns, *(column.isNull() for column in columns))
