"""Evolution of a gold table with its source: create, alter, truncate, rename, drop."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import types as st

from pipeline.errors import BinlakeError
from pipeline.gold.local.table import empty_without_spark
from pipeline.gold.schema.alter_table import add_columns, alter_table
from pipeline.gold.schema.table_change import TableChange, needed_features
from pipeline.gold.table.damage import damage_in
from pipeline.gold.table.gold_table import SOURCE, GoldTable, table_progress
from pipeline.gold.table.options import TableOptions
from pipeline.gold.table.table_metadata import create_table
from pipeline.lake.delta_log.column_features import enabling
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.sql_text import in_sql, quoted
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.ddl.partitions import PartitionRows

ENDS = ("drop", "moved")
EMPTYING = (*ENDS, "truncate", "truncate_partitions")
"""Items that remove rows."""
_DAYS_TO_1970 = 719528
"""MySQL's TO_DAYS('1970-01-01')."""


def evolve(change: TableChange) -> None:
    """Apply one change of its definition to the table."""
    item, table = change.item, change.table
    now = change.progress()
    ours = now is not None and now.is_of(table.source)
    if now is not None and ours and now.reached >= item.position:
        return
    if _empties(item):
        # Missing if the table started empty, and no row has shown its columns yet.
        if not ours or (item.kind in ENDS and not change.drop_rows):
            return
        if item.rows or not empty_without_spark(change.spark, change.write):
            which = f" WHERE {_held_in(item.rows)}" if item.rows else ""
            change.execute(f"DELETE FROM {in_sql(table.reference)}{which}")
    elif item.definition is None:
        return
    elif now is not None and not ours:
        raise _not_ours(table)
    elif item.kind == "add_columns":
        add_columns(change)
    elif item.kind == "alter":
        alter_table(change)
    else:
        _begin(change, there=now is not None)
        return
    change.set_position()


def _empties(item: TimelineItem) -> bool:
    """Return True if only rows are removed, including by a CREATE whose columns are not known."""
    return item.kind in EMPTYING or (item.kind == "create" and item.definition is None)


def taken(spark: Spark, reference: str, source: str, *, known: bool) -> str | None:
    """Return why the place of a new gold table is occupied (a table that is not ours), or None.

    `known`: the lake had a table of that source there before. Otherwise the table there belongs to
    another lake, however it got here, and Delta would mistake that lake's steps for ours.
    """
    remedy = "Move it away, or leave the source's table out with exclude in the settings."
    try:
        now = table_progress(spark, reference)
    except AnalysisException:
        return f"{reference} already exists and is not a Delta table. {remedy}"
    except Exception as error:
        damage = damage_in(error, reference, None)
        if damage is None:
            raise
        return f"{reference} already exists and cannot be read: {damage.reason}. {remedy}"
    if now is None or (known and now.is_of(source)):
        return None
    if now.is_of(source):
        return f"{reference} already exists, as a table of another lake of {source}. {remedy}"
    return f"{_is_not_ours(reference, source)} {remedy}"


def _is_not_ours(reference: str, source: str) -> str:
    return f"{reference} already exists and is not a table of source {source}."


def _not_ours(table: GoldTable) -> BinlakeError:
    reason = _is_not_ours(table.reference, table.source)
    return BinlakeError(reason, remedy="Move it away and run again.")


def begun_in_place(change: TableChange) -> int | None:
    """Return the table's version before the change, creating an empty table if there is none.

    None if the change is already done.
    """
    now = change.progress()
    if now is None:
        create(change)
    elif not now.is_of(change.table.source):
        raise _not_ours(change.table)
    return change.keep_base()


def _begin(change: TableChange, *, there: bool) -> None:
    """Create the table or, if it is `there`, empty it and replace its columns."""
    if not there:
        create(change, done=True)
        # A run overtaken by a full refresh may have created it just before, with its position.
        if not change.table.refresh or change.is_passed():
            return
    if change.keep_base() is None:
        return  # another run has passed it
    if not change.overwrite_here(None):
        change.overwrite(change.session.createDataFrame([], change.schema))
    change.cluster()
    change.set_position()


def create(change: TableChange, *, done: bool = False) -> None:
    """Create an empty table in one commit; `done`: this completes the change."""
    properties = change.done_properties if done else {SOURCE: change.table.source}
    properties = {**first_properties(change.schema, change.table.options), **properties}
    spark, reference = change.spark, change.table.reference
    change.commit(
        lambda: create_table(spark, reference, change.schema, change.clustering, properties)
    )


def first_properties(schema: st.StructType, options: TableOptions) -> dict[str, str]:
    """Return the properties of a new table that its readers depend on."""
    features = enabling(sorted(needed_features(schema)))
    return {**features, **options.fitting(schema).initial_properties}


def _held_in(rows: PartitionRows) -> str:
    """Return an SQL condition for rows in these partitions; it is NULL only for rows outside."""
    column = quoted(rows.column)
    value = column
    if rows.function == "YEAR":
        value = f"year({column})"
    elif rows.function == "TO_DAYS":
        value = f"datediff({column}, DATE'1970-01-01') + {_DAYS_TO_1970}"
    within = [_between(value, low, high) for low, high in rows.ranges]
    if rows.null:
        within.append(f"{column} IS NULL")
    return " OR ".join(within)


def _between(value: str, low: int | None, high: int | None) -> str:
    """Return an SQL condition: `low` (inclusive) to `high` (exclusive), if they are given."""
    found = f"({value}) IS NOT NULL"
    if low is not None:
        found += f" AND {value} >= {low}"
    if high is not None:
        found += f" AND {value} < {high}"
    return f"({found})"
