"""Fold changes whose images leave columns out to one row per key, like `fold`.

Pure DataFrame transformations. Input: silver's changes with `PARTIAL_COLUMNS`. Output: the table's
columns, gold's own, `DELETE`, and `MISSING`: the columns that no change contains, so that gold's
row keeps its values.

The rows that a key has over time are *lives*: a life begins with an insert, with an update that
moves a row to the key, or before the first change; it ends with a delete, or with an update that
moves the row away. The last value that a life's changes contain for a column holds for the life.
Columns that they do not contain keep the value from before the life: after an insert none are
unknown; for a row that was moved, the value comes from its life at the other key; and if no change
contains it, from gold, at the key of the row's first life. A row for which gold has no such row
ends as deleted, since the row that gold has at its key is a different one. A life is lost if it
begins with an insert that leaves out unknown values, until its changes have set every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window, functions as sf

from pipeline.gold.changes.fold import DELETE, Shape
from pipeline.gold.changes.images import (
    LeftOut,
    any_of,
    diffs_of,
    is_left_out,
    is_moved,
    key_of,
    known,
)
from pipeline.gold.changes.patched_json import misfit, with_diffs
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.lake.sql_text import quoted

MISSING = "__binlake_missing"
"""Names of the columns that keep gold's value."""
_ORDER, _GONE, _LIFE, _LINK, _LOST = "__order", "__gone", "__life", "__link", "__lost"
"""Of a change: its position in the log. Of a life: whether it ended, the change it began with
(null: before the first one), the update that moved the row here, if any, and whether the life is
lost."""
_VALUE = "value"
"""Struct field of a known value, so that a known NULL can be represented."""
_STALE = "stale"
"""Struct field of a generated column: images leave it out, and its value has changed."""
_BEGINS, _MOVES, _LAST = "__begins", "__moves", "__last"
_CHILD, _UP, _HAS = "__child", "__up_", "__has"
_NEEDS, _BASE, _FOUND = "__needs", "__base", "__found"


def fold_partial(
    changes: DataFrame, shape: Shape, gold: DataFrame, left_out: LeftOut, *, lives: bool
) -> DataFrame:
    """Return one row per key.

    `gold` is read for rows that moved, that have diffs, or that have a generated column to compute.
    `lives=False` asserts that no update changes a key and that no insert is lost.
    """
    table = _Lives(shape, left_out, moved=lives)
    return table.found(changes, gold).select(*table.outcome())


def misfits(
    changes: DataFrame, shape: Shape, gold: DataFrame, left_out: LeftOut, *, lives: bool
) -> DataFrame:
    """Return columns `lsn` and `reason`: the changes whose JSON diffs do not fit the document."""
    table = _Lives(shape, left_out, moved=lives)
    each = [misfit(table.value_of(name), sf.col(diffs)) for name, diffs in table.diffs.items()]
    found = table.found(changes, gold)
    return found.select(sf.inline(sf.array_compact(sf.array(*each))))


class _Lives:
    """The steps from changes to lives, for a table of that shape; `moved`: rows may change keys.

    One class, since every step uses the same columns: `k0…` the key; `v0…` the other columns, each
    a struct of its value, or null if no change contains it; `p0…` JSON diffs to apply to it.
    """

    def __init__(self, shape: Shape, left_out: LeftOut, *, moved: bool) -> None:
        self.shape = shape
        self.left_out = left_out
        self.moved = moved
        self.key = {name: f"k{n}" for n, name in enumerate(shape.key)}
        others = (name for name in shape.columns if name not in self.key)
        self.values = {name: f"v{n}" for n, name in enumerate(others)}
        self.diffs = {name: f"p{n}" for n, name in enumerate(self.values) if name in left_out.json}
        self.computed = {
            one.name: one
            for one in left_out.unlogged
            if one.value is not None and one.name in self.values
        }
        self.based = moved or bool(self.diffs) or bool(self.computed)

    def found(self, changes: DataFrame, gold: DataFrame) -> DataFrame:
        """Return the last life of each key, with gold's row joined where it is needed."""
        events = self.events(changes)
        if self.moved:
            events = self.in_lives(events)
            all_lives = self.lives(events, (_LIFE,))
            found = self.with_ancestors(self.last(all_lives), events, all_lives)
        else:
            found = self.lives(events)
        found = found.withColumn(_GONE, sf.col(_GONE) | (sf.col(_LOST) & self.unknown))
        return self._with_base(found, gold) if self.based else found

    def outcome(self) -> list[Column]:
        """Return the columns of the fold's result."""
        nothing = sf.array().cast("array<string>")
        keeps = (sf.when(sf.col(v).isNull(), sf.lit(name)) for name, v in self.values.items())
        missing = sf.array_compact(sf.array(*keeps)) if self.values else nothing
        kept = sf.col(_GONE) | sf.col(_FOUND).isNotNull() if self.based else sf.col(_GONE)
        return [
            *(self._column(name).alias(name) for name in self.shape.columns),
            sf.col("__lsn").alias(LSN),
            sf.col(COMMITTED_AT),
            sf.col(_GONE).alias(DELETE),
            sf.when(kept, nothing).otherwise(missing).alias(MISSING),
        ]

    def value_of(self, name: str) -> Column:
        """Return a column's last value in the changes, or gold's."""
        value = self.values[name]
        found = sf.col(value).getField(_VALUE)
        if not self.based:
            return found
        if name in self.computed:
            # A row that is gone has no other columns to compute it from.
            stale = sf.col(value).getField(_STALE) & ~sf.col(_GONE)
            found = sf.when(stale, self._computed(name)).otherwise(found)
        return sf.when(sf.col(value).isNotNull(), found).otherwise(sf.col(_BASE).getField(value))

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
            self.left_out.is_lost(self.values).alias(_LOST),
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
        so_far = Window.partitionBy(*self.key.values()).orderBy(_ORDER)
        begun = sf.when(sf.col(_BEGINS), sf.col(_ORDER))
        return events.withColumn(_LIFE, sf.last(begun, ignorenulls=True).over(so_far))

    def lives(self, events: DataFrame, by: Sequence[str] = ()) -> DataFrame:
        """Return one row for each key (and each of `by`) with the last known value per column."""
        found = events.groupBy(*self.key.values(), *by).agg(
            *(
                sf.max_by(v, sf.when(sf.col(v).isNotNull(), sf.col(_ORDER))).alias(v)
                for v in self.values.values()
            ),
            *(self._since(name).alias(f"{diffs}_since") for name, diffs in self.diffs.items()),
            *(self._all_diffs(diffs).alias(diffs) for diffs in self.diffs.values()),
            sf.max_by(_GONE, _ORDER).alias(_GONE),
            sf.coalesce(sf.bool_or(_LOST), sf.lit(False)).alias(_LOST),
            sf.max_by(COMMITTED_AT, _ORDER).alias(COMMITTED_AT),
            sf.max(_ORDER).alias(_LAST),
            sf.max(sf.when(sf.col(_BEGINS) & sf.col(_MOVES), sf.col(_ORDER))).alias(_LINK),
        )
        since = {diffs: sf.col(f"{diffs}_since") for diffs in self.diffs.values()}
        pending = {diffs: _pending(sf.col(diffs), since[diffs]) for diffs in since}
        roots = {root: sf.col(key) for key, root in self.roots.items()}
        return found.withColumns({**pending, **roots, "__lsn": sf.col(_LAST)["__lsn"]}).drop(
            *(f"{diffs}_since" for diffs in since)
        )

    def last(self, lives: DataFrame) -> DataFrame:
        """Return the last life of each key."""
        latest = Window.partitionBy(*self.key.values()).orderBy(sf.desc_nulls_last(_LIFE))
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
        while not above.where(sf.col(_LINK).isNotNull()).isEmpty():
            above = self._with_parents(above, above).localCheckpoint()
        return self._with_parents(last, above)

    @property
    def unknown(self) -> Column:
        """Return the condition that a column of the life's row is unknown."""
        return any_of(sf.col(v).isNull() for v in self.values.values())

    @property
    def stale(self) -> Column:
        """Return the condition that a generated column of the life's row must still be computed."""
        each = (sf.col(self.values[name]).getField(_STALE) for name in self.computed)
        return any_of(sf.coalesce(one, sf.lit(False)) for one in each)

    @property
    def roots(self) -> dict[str, str]:
        """Names of the columns with the key of a life's row in gold, by its own key columns."""
        return {key: f"root_{key}" for key in self.key.values()}

    # --- expressions ------------------------------------------------------------------------------

    def _column(self, name: str) -> Column:
        if name in self.key:
            return sf.col(self.key[name])
        if name in self.diffs:
            lenient = self.left_out.lenient
            return with_diffs(self.value_of(name), sf.col(self.diffs[name]), lenient=lenient)
        return self.value_of(name)

    def _computed(self, name: str) -> Column:
        """Return a generated column's value, computed from the row's final other columns."""
        value = self.computed[name].value
        if value is None:
            raise ValueError(f"column {name} cannot be computed")
        found, is_certain = value(self._column)
        return known(found, is_certain, name, vouched=not self.left_out.lenient)

    def _change(self, gone: Column, moved: Column) -> list[Column]:
        return [
            sf.struct("__lsn", "__pos", "__row").alias(_ORDER),
            sf.col("__committed_at").alias(COMMITTED_AT),
            gone.alias(_GONE),
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
            stale = sf.struct(sf.lit(None).alias(_VALUE), sf.lit(True).alias(_STALE))
            found = found.when(self.computed[name].is_stale(), stale)
        return found.when(sf.col("__op") == "insert", default).when(
            ~is_left_out("before", name), before
        )

    def _known_value(self, name: str, value: Column) -> Column:
        stale = [sf.lit(False).alias(_STALE)] if name in self.computed else []
        return sf.struct(value.alias(_VALUE), *stale)

    def _since(self, name: str) -> Column:
        return sf.max(sf.when(sf.col(self.values[name]).isNotNull(), sf.col(_ORDER)))

    def _all_diffs(self, diffs: str) -> Column:
        one = sf.struct(sf.col(_ORDER).alias("order"), sf.col(diffs).alias("diff"))
        return sf.array_sort(sf.collect_list(sf.when(sf.col(diffs).isNotNull(), one)))

    # --- gold's rows ------------------------------------------------------------------------------

    def _with_base(self, found: DataFrame, gold: DataFrame) -> DataFrame:
        """Join gold's row to the rows that need one.

        Rows that have none there are marked as gone.
        """
        pending = [
            sf.col(self.values[name]).isNull() & (sf.size(diffs) > 0)
            for name, diffs in self.diffs.items()
        ]
        moved = any_of(~sf.col(key).eqNullSafe(sf.col(root)) for key, root in self.roots.items())
        needs = ~sf.col(_GONE) & reduce(Column.__or__, pending, (moved | self.stale) & self.unknown)
        values = (sf.col(quoted(name)).alias(value) for name, value in self.values.items())
        base = gold.select(
            *(sf.col(quoted(name)).alias(f"__base_{key}") for name, key in self.key.items()),
            sf.struct(*values).alias(_BASE),
            sf.lit(True).alias(_FOUND),
        )
        same = [
            sf.col(root).eqNullSafe(sf.col(f"__base_{key}")) for key, root in self.roots.items()
        ]
        rows = found.withColumn(_NEEDS, needs)
        joined = rows.join(base, reduce(Column.__and__, same, sf.col(_NEEDS)), "left")
        gone = sf.col(_GONE) | (sf.col(_NEEDS) & sf.col(_FOUND).isNull())
        # A row that is gone has no document to apply diffs to.
        diffs = {p: sf.when(~gone, sf.col(p)) for p in self.diffs.values()}
        return joined.withColumns({**diffs, _GONE: gone})

    # --- rows that moved --------------------------------------------------------------------------

    def _above(self, events: DataFrame, lives: DataFrame) -> DataFrame:
        """Return, by the update that moved a row away, the values of its life until then."""
        at = (*self.key.values(), _LIFE)
        ends = events.where(sf.col(_GONE) & sf.col(_MOVES)).select(
            *(sf.col(name).alias(f"__end_{name}") for name in at), sf.col(_ORDER).alias(_CHILD)
        )
        same = [sf.col(name).eqNullSafe(sf.col(f"__end_{name}")) for name in at]
        onward = sf.when(self.unknown, sf.col(_LINK)).alias(_LINK)
        joined = ends.join(lives, reduce(Column.__and__, same))
        return joined.select(_CHILD, onward, *self._carried)

    @property
    def _carried(self) -> list[str]:
        """Columns that a life passes on to the next life of its row."""
        return [*self.roots.values(), *self.values.values(), *self.diffs.values(), _LOST]

    def _with_parents(self, found: DataFrame, above: DataFrame) -> DataFrame:
        """Complete lives with the values of the lives before them, and take over their links."""
        parents = above.select(
            *(sf.col(name).alias(f"{_UP}{name}") for name in (_CHILD, _LINK, *self._carried))
        )
        has = self.unknown & (sf.col(_LINK) == sf.col(f"{_UP}{_CHILD}"))
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
        lost = sf.col(_LOST) | sf.coalesce(sf.col(f"{_UP}{_LOST}"), sf.lit(False))
        link = sf.when(sf.col(_HAS), sf.col(f"{_UP}{_LINK}"))
        changed = {**diffs, **values, **roots, _LOST: lost, _LINK: link}
        return joined.withColumns(changed).select(*found.columns)


def _pending(diffs: Column, since: Column) -> Column:
    """Return the diffs since the last whole value, including its own, in order."""
    later = sf.filter(diffs, lambda one: since.isNull() | (one["order"] >= since))
    return sf.transform(later, lambda one: one["diff"])
