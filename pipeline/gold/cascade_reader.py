"""What is looked up to work out what foreign keys do: once, though a plan is made several times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.effects import TableName
from pipeline.gold.cascade_links import Items
from pipeline.gold.cascade_replay import Event, Identity, Link, Values
from pipeline.gold.cascade_rows import (
    LoggedCascades,
    Wish,
    events,
    keyed,
    referring,
    transactions,
)
from pipeline.gold.facts import Facts
from pipeline.gold.names import gold_name
from pipeline.lake import Lake
from pipeline.settings import Settings

Answer = TypeVar("Answer")


class Reader:
    """Reads silver, and gold as it is before the batch: `versions` are Delta's of its tables."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        items: Items,
        facts: Facts,
        versions: Mapping[TableName, int],
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._lake = Lake(settings.lake)
        self._items = items
        self._facts = facts
        self._versions = versions
        self._known: dict[Hashable, Any] = {}

    def events(self, wishes: Iterable[Wish]) -> list[Event]:
        """Changes of tables, in no order. Raises TooManyRowsError."""
        with ThreadPoolExecutor(self._settings.parallel_tables) as pool:
            return [event for found in pool.map(self._events, wishes) for event in found]

    def _events(self, wish: Wish) -> list[Event]:
        items, types = self._items.get(wish.name, ()), self._settings.type_options
        return self._once(
            wish, lambda: events(self._spark, self._lake, wish, items, self._facts, types)
        )

    def logged(self, lsns: Collection[int]) -> LoggedCascades:
        """What silver tells of these transactions."""
        source = self._settings.source
        return self._once(
            ("logged", frozenset(lsns)),
            lambda: LoggedCascades(self._spark, self._lake, source, lsns, self._facts),
        )

    def unlogged(self, names: Iterable[str], lsns: Iterable[int]) -> list[int]:
        """The transactions that leave unlogged what foreign keys do, of those that have rows of
        these tables, or are among `lsns`: where they are committed, in order."""
        told = (frozenset(names), frozenset(lsns))
        return self._once(("unlogged", *told), lambda: self._unlogged(*told))

    def _unlogged(self, names: frozenset[str], lsns: frozenset[int]) -> list[int]:
        lsn, facts = sf.col("__lsn"), self._facts
        decided = {p.lsn: p.end_lsn for p in facts.prepared}
        within = ((lsn > facts.low) & (lsn <= facts.high)) | lsn.isin([*decided])
        named = sf.arrays_overlap(sf.map_keys("rows"), sf.array(*map(sf.lit, sorted(names))))
        rows = transactions(self._spark, self._lake, self._settings.source)
        found = rows.where(
            within & ~sf.col("cascades").eqNullSafe("logged") & (named | lsn.isin([*lsns]))
        )
        found = found.select("__lsn").distinct()
        ends = {decided.get(row[0], row[0]) for row in found.collect()}
        return sorted(end for end in ends if end is not None)

    def referring(
        self, link: Link, values: Collection[Identity], columns: Sequence[str]
    ) -> list[Values]:
        """A child's rows that may refer to these. Raises TooManyRowsError."""
        version = self._versions.get(link.child)
        if version is None:
            return []
        gold = delta.read(self._spark, self._name(link.child), version=version)
        return self._once(
            (link, frozenset(values), tuple(columns)),
            lambda: referring(gold, link, values, columns),
        )

    def keyed(
        self,
        table: TableName,
        key: Sequence[str],
        keys: Collection[Identity],
        columns: Sequence[str],
    ) -> list[Values]:
        """A child's rows with these keys. Raises TooManyRowsError."""
        version = self._versions.get(table)
        if version is None or not keys:
            return []
        gold = delta.read(self._spark, self._name(table), version=version)
        return self._once(
            (table, tuple(key), frozenset(keys), tuple(columns)),
            lambda: keyed(gold, table, key, keys, columns),
        )

    def _name(self, table: TableName) -> str:
        return gold_name(self._settings, table.schema, table.table)

    def _once(self, question: Hashable, look: Callable[[], Answer]) -> Answer:
        if question not in self._known:
            self._known[question] = look()
        answer: Answer = self._known[question]
        return answer
