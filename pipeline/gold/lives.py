"""What changes with partial images say of each life of a key (see `pipeline.gold.partial`).

One class, since every step is about the same columns: `k0…` the key, `v0…` the other columns, each
a struct of its value or null where nothing is said of it, `p0…` JSON diffs to be applied to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window, functions as sf

from pipeline.gold.fold import Shape
from pipeline.gold.images import diff_of, is_left_out, is_moved, key_of
from pipeline.gold.names import COMMITTED_AT

ORDER, GONE, LIFE, LINK = "__order", "__gone", "__life", "__link"
"""Of a change: where it is in the log. Of a life: whether it ended, the change it began with (null:
before the first one), and the update that moved the row here, if one did."""
VALUE = "value"
"""The field of a value that is said, so that NULL can be said too."""
_BEGINS, _MOVES, _LAST = "__begins", "__moves", "__last"
_CHILD, _NEXT, _UP = "__child", "__next", "__up_"


class Lives:
    """The steps from changes to lives, for a table of that shape; `json`: columns with diffs."""

    def __init__(self, shape: Shape, json: frozenset[str]) -> None:
        self.key = {name: f"k{n}" for n, name in enumerate(shape.key)}
        told = (name for name in shape.columns if name not in self.key)
        self.values = {name: f"v{n}" for n, name in enumerate(told)}
        self.diffs = {name: f"p{n}" for n, name in enumerate(self.values) if name in json}

    def events(self, changes: DataFrame, defaults: Mapping[str, Column]) -> DataFrame:
        """What happens at each key: something is said of its row, or the row is gone from there."""
        moved = is_moved(tuple(self.key))
        arrivals = changes.where(sf.col("__op") != "delete").select(
            *(key_of("after", name).alias(key) for name, key in self.key.items()),
            *self._change(sf.lit(False), moved),
            ((sf.col("__op") == "insert") | moved).alias(_BEGINS),
            *(self._value(name, defaults).alias(value) for name, value in self.values.items()),
            *(diff_of(name).alias(diffs) for name, diffs in self.diffs.items()),
        )
        departures = changes.where((sf.col("__op") == "delete") | moved).select(
            *(key_of("before", name).alias(key) for name, key in self.key.items()),
            *self._change(sf.lit(True), moved),
        )
        return arrivals.unionByName(departures, allowMissingColumns=True)

    def in_lives(self, events: DataFrame) -> DataFrame:
        """The events with the life that each is of."""
        so_far = Window.partitionBy(*self.key.values()).orderBy(ORDER)
        begun = sf.when(sf.col(_BEGINS), sf.col(ORDER))
        return events.withColumn(LIFE, sf.last(begun, ignorenulls=True).over(so_far))

    def lives(self, events: DataFrame, by: Sequence[str] = ()) -> DataFrame:
        """One row for each key (and what else `by` names): what is said last of each column."""
        found = events.groupBy(*self.key.values(), *by).agg(
            *(
                sf.max_by(v, sf.when(sf.col(v).isNotNull(), sf.col(ORDER))).alias(v)
                for v in self._v
            ),
            *(self._since(name).alias(f"{diffs}_since") for name, diffs in self.diffs.items()),
            *(self._all_diffs(diffs).alias(diffs) for diffs in self.diffs.values()),
            sf.max_by(GONE, ORDER).alias(GONE),
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
        """The last life of each key."""
        latest = Window.partitionBy(*self.key.values()).orderBy(sf.desc_nulls_last(LIFE))
        age = "__age"
        return lives.withColumn(age, sf.row_number().over(latest)).where(sf.col(age) == 1).drop(age)

    def with_ancestors(self, last: DataFrame, events: DataFrame, lives: DataFrame) -> DataFrame:
        """The lives with what is said of their rows in lives at other keys, one behind the other.

        Their roots become the key that the first of these lives has.
        """
        above = self._above(events, lives)
        found = last
        for _ in range(_hops(above.select(_CHILD, _NEXT))):
            found = self._with_parent(found, above)
        return found

    @property
    def roots(self) -> dict[str, str]:
        """Where the key is that a life's row has in gold, by the columns of its own key."""
        return {key: f"root_{key}" for key in self.key.values()}

    # --- expressions ------------------------------------------------------------------------------

    @property
    def _v(self) -> Iterator[str]:
        return iter(self.values.values())

    def _change(self, gone: Column, moved: Column) -> list[Column]:
        return [
            sf.struct("__lsn", "__pos", "__row").alias(ORDER),
            sf.col("__committed_at").alias(COMMITTED_AT),
            gone.alias(GONE),
            moved.alias(_MOVES),
        ]

    def _value(self, name: str, defaults: Mapping[str, Column]) -> Column:
        """The value that a change says, or had before its JSON diff, as a struct; null: nothing."""
        before, after = (
            sf.struct(sf.col(side).getField(name).alias(VALUE)) for side in ("before", "after")
        )
        default = sf.struct(defaults[name].alias(VALUE)) if name in defaults else sf.lit(None)
        return (
            sf.when(~is_left_out("after", name), after)
            .when(sf.col("__op") == "insert", default)
            .when(~is_left_out("before", name), before)
        )

    def _since(self, name: str) -> Column:
        return sf.max(sf.when(sf.col(self.values[name]).isNotNull(), sf.col(ORDER)))

    def _all_diffs(self, diffs: str) -> Column:
        one = sf.struct(sf.col(ORDER).alias("order"), sf.col(diffs).alias("diff"))
        return sf.array_sort(sf.collect_list(sf.when(sf.col(diffs).isNotNull(), one)))

    # --- rows that moved --------------------------------------------------------------------------

    def _above(self, events: DataFrame, lives: DataFrame) -> DataFrame:
        """By the update that moved a row (`LINK`): what is said of it in its life before."""
        at = (*self.key.values(), LIFE)
        ends = events.where(sf.col(GONE) & sf.col(_MOVES)).select(
            *(sf.col(name).alias(f"__end_{name}") for name in at), sf.col(ORDER).alias(_CHILD)
        )
        same = [sf.col(name).eqNullSafe(sf.col(f"__end_{name}")) for name in at]
        told = (*self.roots.values(), *self.values.values(), *self.diffs.values())
        return ends.join(lives, reduce(Column.__and__, same)).select(
            _CHILD,
            sf.col(LINK).alias(_NEXT),
            *(sf.col(name).alias(f"{_UP}{name}") for name in told),
        )

    def _with_parent(self, found: DataFrame, above: DataFrame) -> DataFrame:
        joined = found.join(above, sf.col(LINK) == sf.col(_CHILD), "left")
        has = sf.col(_CHILD).isNotNull()
        values = {v: sf.coalesce(sf.col(v), sf.col(f"{_UP}{v}")) for v in self.values.values()}
        diffs = {
            p: sf.when(
                has & sf.col(self.values[name]).isNull(), sf.concat(sf.col(f"{_UP}{p}"), sf.col(p))
            ).otherwise(sf.col(p))
            for name, p in self.diffs.items()
        }
        roots = {
            root: sf.when(has, sf.col(f"{_UP}{root}")).otherwise(sf.col(root))
            for root in self.roots.values()
        }
        changed = joined.withColumns({**diffs, **values, **roots, LINK: sf.col(_NEXT)})
        return changed.select(*found.columns)


def _pending(diffs: Column, since: Column) -> Column:
    """The diffs that come after the last whole value, or with it, in order."""
    later = sf.filter(diffs, lambda one: since.isNull() | (one["order"] >= since))
    return sf.transform(later, lambda one: one["diff"])


def _hops(links: DataFrame) -> int:
    """How often the row moved that moved most often."""
    hops = 0
    chain = links
    onward = links.select(sf.col(_CHILD).alias("__onward"), sf.col(_NEXT).alias("__behind"))
    while not chain.isEmpty():
        hops += 1
        joined = chain.join(onward, sf.col(_NEXT) == sf.col("__onward"))
        chain = joined.select(_CHILD, sf.col("__behind").alias(_NEXT))
    return hops
