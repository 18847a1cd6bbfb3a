"""Row images that leave columns out: what a change itself determines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

from pyspark.sql import Column, DataFrame, functions as sf, types as st

from pipeline.gold.changes.patched_json import with_diffs
from pipeline.lake.sql_text import literal

Doubt = Literal["", "date", "real", "text"]
"""Why values that are equal in gold may differ in the source: NULL may be a zero date, U+FFFD may
be any bytes that are invalid in the charset, and 0.0 equals -0.0."""
REPLACEMENT = "\ufffd"
"""Replaces bytes that are not a character of their charset."""
MARIADB_GTID = r"^[0-9]+-[0-9]+-[0-9]+$"


@dataclass(frozen=True, slots=True)
class Unlogged:
    """A generated column that images may leave out although an update has changed it.

    `value` evaluates its expression on a row's columns, and returns whether the result is certain;
    None if the expression is not supported, for `reason`. `reads`: the columns it refers to;
    `sources`: the base columns it depends on in the end (None: any change may affect it).
    """

    name: str
    reads: frozenset[str] = frozenset()
    value: Callable[[Callable[[str], Column]], tuple[Column, Column]] | None = None
    sources: Mapping[str, Doubt] | None = None
    reason: str = ""

    def is_changed(self) -> Column:
        """Return the condition that an update leaves the column out and may have changed it."""
        update = (sf.col("__op") == "update") & is_left_out("after", self.name)
        if self.sources is None:
            return update
        differ = (_may_differ(name, doubt) for name, doubt in sorted(self.sources.items()))
        return update & any_of(differ)

    def is_stale(self) -> Column:
        """Return the condition that it can be computed, but only with all columns of the row."""
        if self.value is None:
            return sf.lit(False)
        absent = (
            is_left_out("before", name) & is_left_out("after", name)
            for name in sorted(self.sources or ())
        )
        return self.is_changed() & any_of(absent)

    def is_lost(self) -> Column:
        """Return the condition that it may have changed and cannot be computed."""
        return self.is_changed() & ~self.is_stale()


def _may_differ(name: str, doubt: Doubt) -> Column:
    before, after = (sf.col(image).getField(name) for image in ("before", "after"))
    if doubt == "real":
        before, after = before.cast("string"), after.cast("string")
    differs = is_left_out("before", name) | ~before.eqNullSafe(after)
    if doubt == "date":
        differs |= after.isNull()
    if doubt == "text":
        differs |= _is(sf.contains(after, sf.lit(REPLACEMENT)))
    return ~is_left_out("after", name) & differs


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Meaning of columns that an image leaves out.

    `json`: columns for which an update may log diffs instead. `defaults`: the values that an insert
    gives to columns it leaves out; `reasons`: why another column's default is unknown. `unlogged`:
    generated columns that images leave out, in table order; `undeclared`: columns that may or may
    not be generated. `lenient`: changes with unknown values are skipped (`on_fault: mark`).
    """

    json: frozenset[str] = frozenset()
    defaults: Mapping[str, Column] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    unlogged: tuple[Unlogged, ...] = ()
    undeclared: frozenset[str] = frozenset()
    lenient: bool = False

    def is_unknown(self) -> Column:
        """Return the condition that the change leaves out a value that cannot be derived."""
        return self._is_lost_insert() | self._is_unlogged()

    def is_lost(self, names: Iterable[str]) -> Column:
        """Return the condition that an insert leaves out one of `names` with an unknown DEFAULT."""
        lost = [name for name in names if name not in self.defaults]
        return _is_insert() & any_of(is_left_out("after", name) for name in lost)

    def unknown(self, changes: DataFrame) -> dict[str, str]:
        """Return the columns to which `is_unknown` applies, and the reason for each."""
        absent = sf.array_except("__absent_after", _names(self.defaults))
        lost = [
            sf.when(_is_insert(), absent),
            sf.when(self._is_undeclared(), self._undeclared_left_out()),
            *(sf.when(one.is_lost(), _names([one.name])) for one in self.unlogged),
        ]
        each = sf.explode(sf.flatten(sf.array_compact(sf.array(*lost)))).alias("name")
        found = sorted(row["name"] for row in changes.select(each).distinct().collect())
        reasons = {**self.reasons, **{one.name: one.reason for one in self.unlogged}}
        return {name: reasons.get(name, "") for name in found}

    def not_computed(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """Return the generated columns that images leave out, of `names` if given, and reasons."""
        return {
            one.name: one.reason for one in self.unlogged if names is None or one.name in set(names)
        }

    def known(self, changes: DataFrame) -> DataFrame:
        """Return the changes without inserts that leave out columns with unknown DEFAULTs."""
        return changes.where(~self._is_lost_insert())

    def _is_lost_insert(self) -> Column:
        absent = sf.array_except("__absent_after", _names(self.defaults))
        return _is(_is_insert() & (sf.size(absent) > 0))

    def _is_unlogged(self) -> Column:
        return any_of(one.is_lost() for one in self.unlogged) | self._is_undeclared()

    def _is_undeclared(self) -> Column:
        """Return the condition that an update may have changed columns that MariaDB omits."""
        if not self.undeclared:
            return sf.lit(False)
        of_mariadb = _is(sf.col("__gtid").rlike(MARIADB_GTID))
        some = _is(sf.size(self._undeclared_left_out()) > 0)
        return (sf.col("__op") == "update") & of_mariadb & some

    def _undeclared_left_out(self) -> Column:
        in_neither = sf.array_intersect("__absent_before", "__absent_after")
        return sf.array_intersect(in_neither, _names(self.undeclared))


def image_type(schema: st.StructType) -> st.StructType:
    """Return the type of both images in silver's changes, from the schema of these."""
    image = schema["after"].dataType
    if not isinstance(image, st.StructType):
        raise TypeError(f"silver's images are structs, not {image.simpleString()}")
    return image


def _names(names: Iterable[str]) -> Column:
    return sf.array(*(sf.lit(name) for name in sorted(names))).cast("array<string>")


def _is_insert() -> Column:
    return sf.col("__op") == "insert"


def _is(condition: Column) -> Column:
    return sf.coalesce(condition, sf.lit(False))


def any_of(conditions: Iterable[Column]) -> Column:
    """Return the disjunction of the conditions."""
    return reduce(Column.__or__, conditions, sf.lit(False))


def is_left_out(side: str, name: str) -> Column:
    """Return the condition that the image lacks a value of the column; a JSON diff is not one."""
    # As SQL, since it is in most expressions of every column, and PySpark asks Java for each
    # function, literal and list of arguments.
    found = f"array_contains(__absent_{side}, {literal(name)})"
    if side == "after":
        found += f" OR map_contains_key(__json_diff, {literal(name)})"
    return sf.expr(f"coalesce({found}, false)")


def key_of(side: str, name: str, defaults: Mapping[str, Column]) -> Column:
    """Return a key column of an image.

    An after image may leave it out if it is unchanged, or if an insert gives it its DEFAULT.
    """
    before, after = (sf.col(image).getField(name) for image in ("before", "after"))
    if side == "before":
        return before
    known = sf.when(~is_left_out("after", name), after)
    if name in defaults:
        known = known.when(_is_insert(), defaults[name])
    return known.otherwise(before)


def is_moved(key: Sequence[str]) -> Column:
    """Return the condition that the change is an update that moves its row to another key."""
    same = (key_of("before", name, {}).eqNullSafe(key_of("after", name, {})) for name in key)
    return (sf.col("__op") == "update") & ~reduce(Column.__and__, same)


def whole_after(name: str, left_out: LeftOut) -> Column:
    """Return a column of the row after a change whose before image is complete."""
    before, after = (sf.col(image).getField(name) for image in ("before", "after"))
    default = left_out.defaults.get(name, sf.lit(None))
    inserted = sf.when(_is_insert(), default).otherwise(before)
    found = sf.when(is_left_out("after", name), inserted).otherwise(after)
    if name not in left_out.json:
        return found
    return with_diffs(found, own_diffs(name), lenient=left_out.lenient)


def own_diffs(name: str) -> Column:
    """Return a column's diffs in one change, in the form that `with_diffs` takes."""
    return sf.array_compact(sf.array(diffs_of(name)))


def diffs_of(name: str) -> Column:
    """Return a column's JSON diffs with the LSN of their change; null if there are none."""
    text = sf.element_at("__json_diff", name)
    return sf.when(text.isNotNull(), sf.struct(sf.col("__lsn").alias("lsn"), text.alias("diff")))


def known(value: Column, is_known: Column, what: str, *, vouched: bool) -> Column:
    """Return a value known only for some rows: for others null or, if `vouched`, an error."""
    unknown = sf.raise_error(sf.lit(f"{what}: not known of this value"))
    return sf.when(is_known, value).otherwise(unknown if vouched else sf.lit(None))
