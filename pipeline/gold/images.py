"""Row images that leave columns out: what of a change is known from the change itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as sf

from pipeline.gold.documents import with_diffs


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What it means that an image leaves a column out.

    `json` names the columns of which an update may log diffs instead; `defaults` has the value that
    an insert gives a column which it leaves out, `reasons` why that of another is not known.
    `unlogged` are the columns of which images never say that they changed. `lenient`: changes of
    which not all is known are gone past.
    """

    json: frozenset[str] = frozenset()
    defaults: Mapping[str, Column] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    unlogged: frozenset[str] = frozenset()
    lenient: bool = False

    def is_unknown(self) -> Column:
        """Whether a change leaves out what nothing tells."""
        return _is(_is_insert() & self._lost(self.defaults)) | self._is_unlogged()

    def is_lost(self, names: Iterable[str]) -> Column:
        """Whether an insert leaves out one of these columns, and its DEFAULT is not known."""
        lost = [name for name in names if name not in self.defaults]
        return _is_insert() & _any(is_left_out("after", name) for name in lost)

    def unknown(self, changes: DataFrame) -> dict[str, str]:
        """What `is_unknown` is about: columns that changes leave out, and why that is too much."""
        lost = changes.where(self.is_unknown())
        names = lost.select(sf.explode("__absent_after").alias("name")).distinct().collect()
        found = sorted({row["name"] for row in names} - self.defaults.keys())
        return {name: self.reasons.get(name, "") for name in found}

    def known(self, changes: DataFrame) -> DataFrame:
        """The changes but for inserts that leave out what has no DEFAULT that is known."""
        return changes.where(~_is(_is_insert() & self._lost(self.defaults)))

    def _lost(self, known: Iterable[str]) -> Column:
        names = sf.array(*(sf.lit(name) for name in known)).cast("array<string>")
        return sf.size(sf.array_except("__absent_after", names)) > 0

    def _is_unlogged(self) -> Column:
        names = (is_left_out("after", name) for name in sorted(self.unlogged))
        return (sf.col("__op") == "update") & _any(names)


def _is_insert() -> Column:
    return sf.col("__op") == "insert"


def _is(condition: Column) -> Column:
    return sf.coalesce(condition, sf.lit(False))


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__or__, conditions, sf.lit(False))


def is_left_out(side: str, name: str) -> Column:
    """Whether an image says nothing of a column; a JSON diff is not its value either."""
    left_out = _is(sf.array_contains(f"__absent_{side}", name))
    if side == "before":
        return left_out
    return left_out | _is(sf.map_contains_key("__json_diff", name))


def key_of(side: str, name: str, defaults: Mapping[str, Column]) -> Column:
    """A column of the key: an after image may leave it out where it stays as it was, or where an
    insert gives it its DEFAULT."""
    before, after = (sf.col(image).getField(name) for image in ("before", "after"))
    if side == "before":
        return before
    known = sf.when(~is_left_out("after", name), after)
    if name in defaults:
        known = known.when(_is_insert(), defaults[name])
    return known.otherwise(before)


def is_moved(key: Sequence[str]) -> Column:
    """Whether a change is an update that moves its row to another key."""
    same = (key_of("before", name, {}).eqNullSafe(key_of("after", name, {})) for name in key)
    return (sf.col("__op") == "update") & ~reduce(Column.__and__, same)


def whole_after(name: str, left_out: LeftOut) -> Column:
    """A column of the row after a change of which the before image is whole."""
    before, after = (sf.col(image).getField(name) for image in ("before", "after"))
    default = left_out.defaults.get(name, sf.lit(None))
    inserted = sf.when(_is_insert(), default).otherwise(before)
    found = sf.when(is_left_out("after", name), inserted).otherwise(after)
    if name not in left_out.json:
        return found
    return with_diffs(found, own_diffs(name), lenient=left_out.lenient)


def own_diffs(name: str) -> Column:
    """The diffs of a column that one change has, as `documents` takes them."""
    return sf.array_compact(sf.array(diffs_of(name)))


def diffs_of(name: str) -> Column:
    """The JSON diffs of a column with the LSN of their change; null where there are none."""
    text = sf.element_at("__json_diff", name)
    return sf.when(text.isNotNull(), sf.struct(sf.col("__lsn").alias("lsn"), text.alias("diff")))
