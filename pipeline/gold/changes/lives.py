"""Lives of keys, from changes with partial images (see `pipeline.gold.changes.fold_partial`).

One class, since every step uses the same columns: `k0…` the key; `v0…` the other columns, each a
struct of its value, or null if no change contains it; `p0…` JSON diffs to apply to it.

A life is lost if it begins with an insert that leaves out unknown values, until its changes have
set every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window, functions as sf

from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut, diffs_of, is_left_out, is_moved, key_of
from pipeline.gold.table.names import COMMITTED_AT

ORDER, GONE, LIFE, LINK, LOST = "__order", "__gone", "__life", "__link", "__lost"
"""Of a change: its position in the log. Of a life: whether it ended, the change it began with
(null: before the first one), the update that moved the row here, if any, and whether the life is
lost."""
VALUE = "value"
"""Struct field of a known value, so that a known NULL can be represented."""
STALE = "stale"
"""Struct field of a generated column: images leave it out, and its value has changed."""
_BEGINS, _MOVES, _LAST = "__begins", "__moves", "__last"
_CHILD, _UP, _HAS = "__child", "__up_", "__has"


class Lives:
    """The steps from changes to lives, for a table of that shape."""

    def __init__(self, shape: Shape, left_out: LeftOut) -> None:
        self.left_out = left_out
        self.key = {name: f"k{n}" for n, name in enumerate(shape.key)}
        others = (name for name in shape.columns if name not in self.key)
        self.values = {name: f"v{n}" for n, name in enumerate(others)}
        self.diffs = {name: f"p{n}" for n, name in enumerate(self.values) if name in left_out.json}
        self.computed = {
            one.name: one
            for one in left_out.unlogged
            if one.value is not None and one.name in self.values
        }

    def events(self, changes: DataFrame) -> DataFrame:
        """Return an event per change and key: the row has these values, or is gone from the key.

        An insert whose key is unknown has no event.
        """
        moved = is_moved(tuple(self.key))
        defaults = self.left_out.defaults
        placed = changes.where((sf.col("__op") != "delete") & ~self.left_out.is_lost(self.key))
        arrivals = placed.select(
            *(key_of("after", name, defaults).alias(key) for name, key in self.key.items()),
            *self._change(sf.lit(False), moved),
            ((sf.col("__op") == "insert") | moved).alias(_BEGINS),
            self.left_out.is_lost(self.values).alias(LOST),
            *(self._value(name).alias(value) for name, value in self.values.items()),
            *(diffs_of(name).alias(diffs) for name, diffs in self.diffs.items()),
        )
        departures = changes.where((sf.col("__op") == "delete") | moved).select(
            *(key_of("before", name, defaults).alias(key) for name, key in self.key.items()),
            *self._change(sf.lit(True), moved),
        )
        return arrivals.unionByName(departures, allowMissingColumns=True)

    def in_lives(self, events: DataFrame) -> DataFrame:
        """Return the events with the life that each belongs to."""
        so_far = Window.partitionBy(*self.key.values()).orderBy(ORDER)
        begun = sf.when(sf.col(_BEGINS), sf.col(ORDER))
        return events.withColumn(LIFE, sf.last(begun, ignorenulls=True).over(so_far))

    def lives(self, events: DataFrame, by: Sequence[str] = ()) -> DataFrame:
        """Return one row for each key (and each of `by`) with the last known value per column."""
        found = events.groupBy(*self.key.values(), *by).agg(
            *(
                sf.max_by(v, sf.when(sf.col(v).isNotNull(), sf.col(ORDER))).alias(v)
                for v in self.values.values()
            ),
            *(self._since(name).alias(f"{diffs}_since") for name, diffs in self.diffs.items()),
            *(self._all_diffs(diffs).alias(diffs) for diffs in self.diffs.values()),
            sf.max_by(GONE, ORDER).alias(GONE),
            sf.coalesce(sf.bool_or(LOST), sf.lit(False)).alias(LOST),
            sf.max_by(COMMITTED_AT, ORDER).alias(COMMITTED_AT),
            sf.max(ORDER).alias(_LAST),
            sf.max(sf.when(sf.col(_BEGINS) & sf.col(_MOVES), sf.col(ORDER))).alias(LINK),
        )
        since = {diffs: sf.col(f"{diffs}_since") for diffs in self.diffs.values()}
        pending = {diffs: _pending(sf.col(diffs), since[diffs]) for diffs in since}
        roots = {root: sf.col(key) for key, root in self.roots.items()}
        return found.withColumns({**pending, **roots, "__lsn": sf.col(_LAST)["__lsn"]}).drop(
            *(f"{diffs}_since" for diffs in since)
        )

    def last(self, lives: DataFrame) -> DataFrame:
        """Return the last life of each key."""
        latest = Window.partitionBy(*self.key.values()).orderBy(sf.desc_nulls_last(LIFE))
        age = "__age"
        return lives.withColumn(age, sf.row_number().over(latest)).where(sf.col(age) == 1).drop(age)

    def with_ancestors(self, last: DataFrame, events: DataFrame, lives: DataFrame) -> DataFrame:
        """Return the lives, completed with values from their rows' earlier lives at other keys.

        Their roots become the key of the earliest of these lives. Lives before one that has all
        values are not followed.
        """
        above = self._above(events, lives).localCheckpoint()
        # Each round looks twice as far back. Its input is checkpointed, or it would be computed
        # twice in each round.
        while not above.where(sf.col(LINK).isNotNull()).isEmpty():
            above = self._with_parents(above, above).localCheckpoint()
        return self._with_parents(last, above)

    @property
    def unknown(self) -> Column:
        """Condition: a column of the life's row is unknown."""
        return reduce(
            Column.__or__, (sf.col(v).isNull() for v in self.values.values()), sf.lit(False)
        )

    @property
    def stale(self) -> Column:
        """Condition: a generated column of the life's row has to be computed from the others."""
        each = (sf.col(self.values[name]).getField(STALE) for name in self.computed)
        return reduce(
            Column.__or__, (sf.coalesce(one, sf.lit(False)) for one in each), sf.lit(False)
        )

    @property
    def roots(self) -> dict[str, str]:
        """Names of the columns with the key of a life's row in gold, by its own key columns."""
        return {key: f"root_{key}" for key in self.key.values()}

    # --- expressions ------------------------------------------------------------------------------

    def _change(self, gone: Column, moved: Column) -> list[Column]:
        return [
            sf.struct("__lsn", "__pos", "__row").alias(ORDER),
            sf.col("__committed_at").alias(COMMITTED_AT),
            gone.alias(GONE),
            moved.alias(_MOVES),
        ]

    def _value(self, name: str) -> Column:
        """Return the value in a change, or before its JSON diff, as a struct; null if unknown."""
        before, after = (
            self._known_value(name, sf.col(side).getField(name)) for side in ("before", "after")
        )
        defaults = self.left_out.defaults
        default = self._known_value(name, defaults[name]) if name in defaults else sf.lit(None)
        found = sf.when(~is_left_out("after", name), after)
        if name in self.computed:
            stale = sf.struct(sf.lit(None).alias(VALUE), sf.lit(True).alias(STALE))
            found = found.when(self.computed[name].is_stale(), stale)
        return found.when(sf.col("__op") == "insert", default).when(
            ~is_left_out("before", name), before
        )

    def _known_value(self, name: str, value: Column) -> Column:
        stale = [sf.lit(False).alias(STALE)] if name in self.computed else []
        return sf.struct(value.alias(VALUE), *stale)

    def _since(self, name: str) -> Column:
        return sf.max(sf.when(sf.col(self.values[name]).isNotNull(), sf.col(ORDER)))

    def _all_diffs(self, diffs: str) -> Column:
        one = sf.struct(sf.col(ORDER).alias("order"), sf.col(diffs).alias("diff"))
        return sf.array_sort(sf.collect_list(sf.when(sf.col(diffs).isNotNull(), one)))

    # --- rows that moved --------------------------------------------------------------------------

    def _above(self, events: DataFrame, lives: DataFrame) -> DataFrame:
        """Return, by the update that moved a row away, the values of its life until then."""
        at = (*self.key.values(), LIFE)
        ends = events.where(sf.col(GONE) & sf.col(_MOVES)).select(
            *(sf.col(name).alias(f"__end_{name}") for name in at), sf.col(ORDER).alias(_CHILD)
        )
        same = [sf.col(name).eqNullSafe(sf.col(f"__end_{name}")) for name in at]
        onward = sf.when(self.unknown, sf.col(LINK)).alias(LINK)
        joined = ends.join(lives, reduce(Column.__and__, same))
        return joined.select(_CHILD, onward, *self._carried)

    @property
    def _carried(self) -> list[str]:
        """Columns that a life passes on to the next life of its row."""
        return [*self.roots.values(), *self.values.values(), *self.diffs.values(), LOST]

    def _with_parents(self, found: DataFrame, above: DataFrame) -> DataFrame:
        """Complete lives with the values of the lives before them, and take over their links."""
        parents = above.select(
            *(sf.col(name).alias(f"{_UP}{name}") for name in (_CHILD, LINK, *self._carried))
        )
        has = self.unknown & (sf.col(LINK) == sf.col(f"{_UP}{_CHILD}"))
        joined = found.join(parents, has, "left").withColumn(
            _HAS, sf.col(f"{_UP}{_CHILD}").isNotNull()
        )
        values = {v: sf.coalesce(sf.col(v), sf.col(f"{_UP}{v}")) for v in self.values.values()}
        diffs = {
            p: sf.when(
                sf.col(_HAS) & sf.col(self.values[name]).isNull(),
                sf.concat(sf.col(f"{_UP}{p}"), sf.col(p)),
            ).otherwise(sf.col(p))
            for name, p in self.diffs.items()
        }
        roots = {
            root: sf.when(sf.col(_HAS), sf.col(f"{_UP}{root}")).otherwise(sf.col(root))
            for root in self.roots.values()
        }
        lost = sf.col(LOST) | sf.coalesce(sf.col(f"{_UP}{LOST}"), sf.lit(False))
        link = sf.when(sf.col(_HAS), sf.col(f"{_UP}{LINK}"))
        changed = {**diffs, **values, **roots, LOST: lost, LINK: link}
        return joined.withColumns(changed).select(*found.columns)


def _pending(diffs: Column, since: Column) -> Column:
    """Return the diffs since the last whole value, including its own, in order."""
    later = sf.filter(diffs, lambda one: since.isNull() | (one["order"] >= since))
    return sf.transform(later, lambda one: one["diff"])
