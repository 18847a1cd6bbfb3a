"""Reads for the cascade computation: changes from silver, and rows from gold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf, types as st

from decoder import TypeOptions
from pipeline.gold.cascades.links import Link, RowIdentity, loose
from pipeline.gold.cascades.replay import RowChange, RowValues
from pipeline.gold.changes.changes import Skipped, read_changes
from pipeline.gold.changes.images import LeftOut, any_of, is_left_out, whole_after
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.small_batch import are_few, changes_here
from pipeline.gold.changes.steps import rows_between
from pipeline.gold.changes.transactions import slices
from pipeline.gold.schema.unlogged import completed, left_out
from pipeline.lake import Lake
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.sql_text import quoted
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem

MOST_ROWS = 200_000
"""Limit on changes of one table, or rows that may refer to deleted ones, processed at once."""
_HEADER = (
    *("__lsn", "__pos", "__row", "__op", "__committed_at"),
    *("__absent_before", "__absent_after"),
)
_VALUE, _OWN = "__binlake_value", "__binlake_own"
_UNKNOWN = "it is unknown whether its transaction logs the actions of foreign keys"


class TooManyRowsError(Exception):
    """Raised if more than `MOST_ROWS` of `table` are affected.

    `lsn`: where its changes reach that number; 0 if they are rows of gold.
    """

    def __init__(self, table: TableName, lsn: int = 0) -> None:
        super().__init__(table, lsn)
        self.table = table
        self.lsn = lsn


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A request for a table's changes in (`low`, `high`].

    `columns`: columns of the images, as far as they contain them; only deletes and changes of these
    count, unless `all_changes` do. `whole`: the rows have no key, so complete after images are
    built.
    """

    name: TableName
    columns: tuple[str, ...]
    low: int
    high: int
    all_changes: bool = False
    whole: bool = False


def events(
    spark: SparkSession,
    lake: Lake,
    request: ChangeRequest,
    items: Sequence[TimelineItem],
    facts: Facts,
    types: TypeOptions,
) -> list[RowChange]:
    """Return a table's changes, unordered. Raises TooManyRowsError."""
    found: list[RowChange] = []
    for rows in rows_between(items, request.low, request.high):
        here = changes_here(spark, lake, rows, facts, types) if are_few(facts) else None
        taken = read_changes(
            spark, lake, request.name, rows, facts.skipped, facts.prepared, here=here
        )
        if taken is None:
            continue
        names = [c.name for c in rows.definition.columns if c.name in request.columns]
        meaning = left_out(rows, types)
        changes = completed(taken.frame, meaning)
        if not request.all_changes:
            changes = changes.where(_concerns(names))
        table = _few(changes.select(*_projection(names, meaning, whole=request.whole)))
        if table is None:
            raise TooManyRowsError(request.name, _reached(changes))
        found += [_event(request, row, names, meaning) for row in table]
    return found


def _few(chosen: DataFrame) -> list[dict[str, Any]] | None:
    """Return the rows; None if there are too many."""
    table = chosen.limit(MOST_ROWS + 1).toArrow()
    if table.num_rows > MOST_ROWS:
        return None
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _reached(chosen: DataFrame) -> int:
    """Return the LSN at which the changes exceed the limit."""
    few = chosen.select("__lsn").orderBy("__lsn").limit(MOST_ROWS + 1)
    lsn = few.agg(sf.max("__lsn")).first()
    return lsn[0] if lsn is not None else 0


def _concerns(referred: Collection[str]) -> Column:
    """Return the condition that a row is deleted, or a referenced column changes."""
    differs = (
        ~is_left_out("after", name)
        & (
            is_left_out("before", name)
            | ~sf.col("before").getField(name).eqNullSafe(sf.col("after").getField(name))
        )
        for name in referred
    )
    return (sf.col("__op") == "delete") | (sf.col("__op") == "update") & any_of(differs)


def _projection(names: Sequence[str], left_out: LeftOut, *, whole: bool) -> list[Column]:
    inserted = sf.col("__op") == "insert"
    after = [sf.col("after").getField(name) for name in names]
    for n, name in enumerate(names):
        if whole:
            after[n] = whole_after(name, left_out)
        elif name in left_out.defaults:
            default = left_out.defaults[name]
            after[n] = sf.when(inserted & is_left_out("after", name), default).otherwise(after[n])
    return [
        *map(sf.col, _HEADER),
        sf.map_keys("__json_diff").alias("__diffs"),
        *(sf.col("before").getField(name).alias(f"b{n}") for n, name in enumerate(names)),
        *(column.alias(f"a{n}") for n, column in enumerate(after)),
    ]


def _event(
    request: ChangeRequest, row: Mapping[str, Any], names: Sequence[str], left_out: LeftOut
) -> RowChange:
    op = row["__op"]
    absent_before = set(row["__absent_before"] or ())
    absent_after = {*(row["__absent_after"] or ()), *(row["__diffs"] or ())}
    if request.whole:
        absent_after = set()
    elif op == "insert":
        absent_after.difference_update(left_out.defaults)
    before = {name: row[f"b{n}"] for n, name in enumerate(names) if name not in absent_before}
    after = {name: row[f"a{n}"] for n, name in enumerate(names) if name not in absent_after}
    return RowChange(
        (row["__lsn"], row["__pos"], row["__row"]),
        request.name,
        None if op == "insert" else before,
        None if op == "delete" else after,
        unlogged=False,
        committed_at=row["__committed_at"],
    )


class LoggedCascades:
    """Lookup of changes whose transactions log all cascades, from silver's transactions."""

    def __init__(
        self, spark: Spark, lake: Lake, source: str, lsns: Collection[int], facts: Facts
    ) -> None:
        # A prepared transaction is applied at its commit, but recorded at its PREPARE.
        self._prepared = {p.end_lsn: p.lsn for p in facts.prepared if p.end_lsn is not None}
        wanted = sorted({self._prepared.get(lsn, lsn) for lsn in lsns})
        among = pa.array(wanted, pa.int64())
        spans = ("cascades_logged", "cascades_logged_rows")
        columns = ("__lsn", "cascades", *spans)
        new = slices(spark, lake, source, wanted[0] - 1, wanted[-1], columns)
        chosen = (rows.filter(pc.is_in(rows.column("__lsn"), value_set=among)) for rows in new)
        self._cascades = {
            row["__lsn"]: (
                row["cascades"],
                [
                    Skipped(row["__lsn"], one["start"], one["end"], name.endswith("_rows"))
                    for name in spans
                    for one in row[name] or ()
                ],
            )
            for rows in chosen
            for row in rows.to_pylist()
        }

    def with_unlogged(self, event: RowChange) -> RowChange:
        """Return the change with whether its cascades may be unlogged, and why if not known."""
        lsn, pos, row = event.place
        kind, logged = self._cascades.get(self._prepared.get(lsn, lsn), (None, []))
        if kind == "mixed":
            within = (s.start <= (row if s.inside else pos) < s.end for s in logged)
            return replace(event, unlogged=not any(within))
        doubt = "" if kind in ("logged", "unlogged") else _UNKNOWN
        return replace(event, unlogged=kind != "logged", doubt=doubt)


def referring(
    gold: DataFrame, link: Link, values: Collection[RowIdentity], columns: Sequence[str]
) -> list[RowValues]:
    """Return the rows of gold that may refer to one of `values` (in the form of `Link.rough`).

    Raises TooManyRowsError.
    """
    rough = {name: _rough(link, name, gold.schema[name].dataType) for name in link.columns}
    # NULL refers to nothing: files and row groups without values are skipped.
    some = reduce(Column.__and__, (sf.col(quoted(name)).isNotNull() for name in link.columns))
    return _with_values(gold.where(some), link.child, rough, values, columns)


def keyed(
    gold: DataFrame,
    table: TableName,
    key: Sequence[str],
    keys: Collection[RowIdentity],
    columns: Sequence[str],
) -> list[RowValues]:
    """Return the rows of gold with these keys. Raises TooManyRowsError."""
    own = {name: sf.col(quoted(name)) for name in key}
    return _with_values(gold, table, own, keys, columns)


def _with_values(
    gold: DataFrame,
    table: TableName,
    compared: Mapping[str, Column],
    values: Collection[RowIdentity],
    columns: Sequence[str],
) -> list[RowValues]:
    """Return `columns` of the rows for which the `compared` values, by column, are among `values`.

    Raises TooManyRowsError.
    """
    places = list(enumerate(compared.items()))
    kinds = [st.StructField(f"{_VALUE}{n}", gold.schema[name].dataType) for n, (name, _) in places]
    wanted = gold.sparkSession.createDataFrame(list(values), st.StructType(kinds))
    # As columns: Spark cannot use a Python UDF in a join condition.
    own = gold.withColumns({f"{_OWN}{n}": value for n, (_, value) in places})
    same = (sf.col(f"{_OWN}{n}").eqNullSafe(sf.col(f"{_VALUE}{n}")) for n, _ in places)
    matching = own.join(sf.broadcast(wanted), reduce(Column.__and__, same), "left_semi")
    names = [f"c{n}" for n in range(len(columns))]
    named = zip(columns, names, strict=True)
    found = _few(matching.select(*(sf.col(quoted(name)).alias(alias) for name, alias in named)))
    if found is None:
        raise TooManyRowsError(table)
    return [dict(zip(columns, map(row.__getitem__, names), strict=True)) for row in found]


def _rough(link: Link, name: str, kind: st.DataType) -> Column:
    """Return `Link.rough` for a column of gold."""
    column = sf.col(quoted(name))
    if not isinstance(kind, st.StringType):
        return column
    return sf.rtrim(column) if name in link.exact else _LOOSE(column)


def _loose(text: str | None) -> str | None:
    return None if text is None else loose(text)


_LOOSE = sf.udf(_loose, st.StringType(), useArrow=False)
