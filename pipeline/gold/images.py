"""Row images that leave columns out: what of a change is known from the change itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as sf, types as st

from pipeline.gold.json_diff import apply_diffs


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What it means that an image leaves a column out.

    `json` names the columns of which an update may log diffs instead; `defaults` has the value that
    an insert gives a column which it leaves out.
    """

    json: frozenset[str] = frozenset()
    defaults: Mapping[str, Column] = field(default_factory=dict)

    def unknown(self, changes: DataFrame) -> set[str]:
        """The columns that inserts leave out, and of which no DEFAULT is known."""
        inserts = changes.where(sf.col("__op") == "insert")
        names = inserts.select(sf.explode("__absent_after").alias("name")).distinct().collect()
        return {row["name"] for row in names} - self.defaults.keys()

    def known(self, changes: DataFrame) -> DataFrame:
        """The changes but for inserts that leave out what has no DEFAULT that is known."""
        names = sf.array(*(sf.lit(name) for name in self.defaults)).cast("array<string>")
        lost = sf.size(sf.array_except("__absent_after", names)) > 0
        return changes.where((sf.col("__op") != "insert") | ~sf.coalesce(lost, sf.lit(False)))


def is_left_out(side: str, name: str) -> Column:
    """Whether an image says nothing of a column; a JSON diff is not its value either."""
    left_out = sf.coalesce(sf.array_contains(f"__absent_{side}", name), sf.lit(False))
    if side == "before":
        return left_out
    return left_out | sf.coalesce(sf.map_contains_key("__json_diff", name), sf.lit(False))


def key_of(side: str, name: str) -> Column:
    """A column of the key: the after image may leave it out where it stays as it was."""
    before, after = (sf.col(image).getField(name) for image in ("before", "after"))
    if side == "before":
        return before
    return sf.when(is_left_out("after", name), before).otherwise(after)


def is_moved(key: Sequence[str]) -> Column:
    """Whether a change is an update that moves its row to another key."""
    same = (key_of("before", name).eqNullSafe(key_of("after", name)) for name in key)
    return (sf.col("__op") == "update") & ~reduce(Column.__and__, same)


def whole_after(name: str, left_out: LeftOut) -> Column:
    """A column of the row after a change of which the before image is whole."""
    before, after = (sf.col(image).getField(name) for image in ("before", "after"))
    default = left_out.defaults.get(name, sf.lit(None))
    inserted = sf.when(sf.col("__op") == "insert", default).otherwise(before)
    found = sf.when(is_left_out("after", name), inserted).otherwise(after)
    return (
        with_diffs(found, sf.array_compact(sf.array(diff_of(name))))
        if name in left_out.json
        else found
    )


def diff_of(name: str) -> Column:
    """The JSON diffs of a column, as one text; null where there are none."""
    return sf.element_at("__json_diff", name)


def with_diffs(document: Column, diffs: Column) -> Column:
    """A document with an array of JSON diffs applied."""
    return _APPLIED(document, diffs)


def _applied(document: str | None, diffs: list[str]) -> str | None:
    """Spark calls it for every row, whatever condition stands around it."""
    return apply_diffs(document, diffs) if document is not None and diffs else document


_APPLIED = sf.udf(_applied, st.StringType(), useArrow=False)
