"""Cached reads for the cascade computation, since a plan is made several times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from pipeline.errors import BinlakeError
from pipeline.gold.cascades.links import Items, Link, RowIdentity
from pipeline.gold.cascades.replay import RowChange, RowValues
from pipeline.gold.cascades.rows import ChangeRequest, LoggedCascades, events, keyed, referring
from pipeline.gold.changes.faults import Resolved, resolved_faults
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.transactions import chosen_rows, have_rows_of, slices
from pipeline.gold.table.damage import Damage, damage_in
from pipeline.gold.table.names import gold_name
from pipeline.lake import delta
from pipeline.lake.delta_log.conditions import among
from pipeline.lake.delta_log.spark_written import version_of
from pipeline.lake.lazy_spark import Spark, started
from pipeline.schema_history import TableName
from pipeline.settings import Settings

Answer = TypeVar("Answer")
_COLUMNS = ("__lsn", "cascades", "rows")


class DamagedTableError(BinlakeError):
    """Raised if the gold table of a child cannot be read."""

    def __init__(self, name: TableName, damage: Damage) -> None:
        super().__init__(damage.held(name))
        self.name = name
        self.damage = damage


@dataclass(slots=True)
class Reader:
    """Reader of silver, and of gold at `versions`: its tables' Delta versions before the batch."""

    spark: Spark
    settings: Settings
    items: Items
    facts: Facts
    versions: Mapping[TableName, int]
    _known: dict[Hashable, Any] = field(default_factory=dict)
    _seen: dict[ChangeRequest, list[tuple[ChangeRequest, list[RowChange]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _logged: list[tuple[frozenset[int], LoggedCascades]] = field(default_factory=list)

    def events(self, wishes: Iterable[ChangeRequest]) -> list[RowChange]:
        """Return changes of tables, unordered. Raises TooManyRowsError."""
        with ThreadPoolExecutor(self.settings.parallel_tables) as pool:
            return [event for found in pool.map(self._events, wishes) for event in found]

    def _events(self, request: ChangeRequest) -> list[RowChange]:
        seen = self._seen[replace(request, low=0, high=0)]
        # A plan that ends earlier than the previous one requests less of the same.
        for wider, found in seen:
            if wider.low <= request.low and request.high <= wider.high:
                return [event for event in found if request.low < event.place[0] <= request.high]
        items, types = self.items.get(request.name, ()), self.settings.type_options
        found = events(started(self.spark), self.settings.layout, request, items, self.facts, types)
        seen.append((request, found))
        return found

    def logged(self, lsns: Collection[int]) -> LoggedCascades:
        """Return which cascades of these transactions are logged."""
        asked, source = frozenset(lsns), self.settings.source
        for more, logged in self._logged:
            if asked <= more:
                return logged
        logged = LoggedCascades(self.spark, self.settings.layout, source, asked, self.facts)
        self._logged.append((asked, logged))
        return logged

    def all_logged(self) -> bool:
        """Return True if all transactions certainly log all cascades."""
        return not self.facts.unlogged and not self._late()

    def not_all_logged(self, table: TableName) -> bool:
        """Return True if the table has rows in transactions that may not log all cascades."""
        late = any(one.has({str(table)}) for one in self._late())
        return late or str(table) in self.facts.unlogged

    def unlogged(self, names: Collection[str], lsns: Iterable[int]) -> list[int]:
        """Return the transactions with rows of these tables that may not log all cascades.

        Including those among `lsns`; as LSNs of their commits, in order.
        """
        # Silver has no row counts by table for transactions that `retry` decoded later.
        late = {one.lsn for one in self._late() if one.has(names)}
        asked = frozenset(names), frozenset(late.union(lsns))
        return self._once(("unlogged", *asked), lambda: self._unlogged(*asked))

    def all_unlogged(self) -> list[int]:
        """Return all transactions that may not log all cascades."""
        return self.unlogged(self.facts.unlogged, (one.lsn for one in self._late()))

    def _late(self) -> tuple[Resolved, ...]:
        # XA transactions that were prepared earlier may be committed here.
        prepared = (one.lsn - 1 for one in self.facts.prepared)
        low, high = min([self.facts.low, *prepared]), self.facts.high
        place = self.spark, self.settings.layout, self.settings.source
        return self._once(("late", low, high), lambda: resolved_faults(*place, low, high))

    def _unlogged(self, names: Collection[str], lsns: Collection[int]) -> list[int]:
        place, facts = (self.spark, self.settings.layout, self.settings.source), self.facts
        decided = {p.lsn: p.end_lsn for p in facts.prepared}
        before = among("__lsn", [lsn for lsn in decided if lsn <= facts.low])
        asked = pa.array(list(lsns), pa.int64())
        ends = set()
        for rows in chain(
            [chosen_rows(*place, before, _COLUMNS)],
            slices(*place, facts.low, facts.high, _COLUMNS),
        ):
            logged = pc.fill_null(pc.equal(rows.column("cascades"), "logged"), False)
            meant = pc.is_in(rows.column("__lsn"), value_set=asked)
            found = pc.and_(pc.or_(have_rows_of(rows, names), meant), pc.invert(logged))
            ends |= {decided.get(lsn, lsn) for lsn in rows.filter(found)["__lsn"].to_pylist()}
        return sorted(end for end in ends if end is not None)

    def referring(
        self, link: Link, values: Collection[RowIdentity], columns: Sequence[str]
    ) -> list[RowValues]:
        """Return a child's rows that may refer to these values. Raises TooManyRowsError."""
        question = (link, frozenset(values), tuple(columns))
        look = partial(referring, link=link, values=values, columns=columns)
        return self._rows(link.child, question, look)

    def keyed(
        self,
        table: TableName,
        key: Sequence[str],
        keys: Collection[RowIdentity],
        columns: Sequence[str],
    ) -> list[RowValues]:
        """Return a child's rows with these keys. Raises TooManyRowsError."""
        question = (table, tuple(key), frozenset(keys), tuple(columns))
        look = partial(keyed, table=table, key=key, keys=keys, columns=columns)
        return self._rows(table, question, look) if keys else []

    def _rows(
        self, table: TableName, question: Hashable, look: Callable[[DataFrame], list[RowValues]]
    ) -> list[RowValues]:
        """Return what `look` finds in a gold table. Raises DamagedTableError if it is damaged."""
        version = self.versions.get(table)
        if version is None:
            return []
        name = gold_name(self.settings, table.schema, table.table)
        try:
            return self._once(
                question, lambda: look(delta.read(started(self.spark), name, version=version))
            )
        except Exception as error:
            damage = damage_in(error, name, version_of(name))
            # Errors of Binlake are not about the table.
            if damage is None or isinstance(error, BinlakeError):
                raise
            raise DamagedTableError(table, damage) from error

    def _once(self, question: Hashable, look: Callable[[], Answer]) -> Answer:
        if question not in self._known:
            self._known[question] = look()
        answer: Answer = self._known[question]
        return answer
