"""Evolution of a gold table with its source: create, alter, truncate, rename, drop.

Each change takes several commits, and a run may crash between any two. So the table property
`POSITION` records the last change that is done, and is set last; every commit before it is either a
step that Delta skips when repeated, or is not made if the table shows that it is done.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from decoder import TableDefinition
from pipeline.catalog.alter.items import TimelineItem
from pipeline.errors import BinlakeError
from pipeline.gold.changes.steps import Evolve
from pipeline.gold.schema.alter_table import add_columns, alter_table
from pipeline.gold.schema.partition_rows import held_in
from pipeline.gold.table.damage import damage_in
from pipeline.gold.table.gold_table import (
    SOURCE,
    GoldTable,
    TableProgress,
    cluster,
    clustering,
    gold_schema,
    keep_base,
    progress_properties,
    properties_in_sql,
    set_position,
    table_progress,
)
from pipeline.lake import delta
from pipeline.lake.sql_text import in_sql, is_name, quoted
from pipeline.lake.starting import Spark

ENDS = ("drop", "moved")
EMPTYING = (*ENDS, "truncate", "truncate_partitions")
"""Items that remove rows."""
TABLE_PROPERTIES = {
    # MySQL's names may contain spaces and characters that Parquet's may not.
    "delta.columnMapping.mode": "name",
    # Required for an added DATETIME, and not enabled by ALTER of the columns.
    "delta.feature.timestampNtz": "supported",
    # Measured: a MERGE of 1 % of a million rows takes 2.2 s with them, 4.1 s without.
    "delta.enableDeletionVectors": "true",
}


def evolve(
    spark: SparkSession,
    table: GoldTable,
    part: Evolve,
    version: int,
    *,
    drop_rows: bool,
    vouched: bool,
) -> None:
    """Apply one change of its definition to the table; `version` is the step's first version.

    `vouched`: gold has exactly the rows that the source had.
    """
    item = part.item
    now = table_progress(spark, table.reference, table.refresh)
    ours = now is not None and now.is_of(table.source)
    if now is not None and ours and now.reached >= item.position:
        return
    if _empties(item):
        # Missing if the table started empty, and no row has shown its columns yet.
        if not ours or (item.kind in ENDS and not drop_rows):
            return
        _delete_rows(spark, table, version, held_in(item.rows) if item.rows else "")
    elif item.definition is None:
        return
    elif now is not None and not ours:
        raise BinlakeError(
            _not_ours(table.reference, table.source), remedy="Move it away and run again."
        )
    elif item.kind == "add_columns":
        add_columns(spark, table, part, version)
    elif item.kind == "alter":
        alter_table(spark, table, part, version, vouched=vouched)
    else:
        _begin(spark, table, part, item.definition, now, version)
        return
    set_position(spark, table, item, version)


def _empties(item: TimelineItem) -> bool:
    """Return True if only rows are removed, including by a CREATE whose columns are not known."""
    return item.kind in EMPTYING or (item.kind == "create" and item.definition is None)


def taken(spark: Spark, reference: str, source: str, *, known: bool) -> str | None:
    """Return why the place of a new gold table is occupied: by a table that is not ours; or None.

    `known`: the lake had a table of that source there before. Otherwise the table there belongs to
    another lake, however it got here, and Delta would mistake that lake's steps for ours.
    """
    remedy = "Move it away, or leave the source's table out with exclude in conf."
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
    return f"{_not_ours(reference, source)} {remedy}"


def _not_ours(reference: str, source: str) -> str:
    return f"{reference} already exists and is not a table of source {source}."


def begun_in_place(
    spark: SparkSession,
    table: GoldTable,
    part: Evolve,
    definition: TableDefinition,
    version: int,
) -> int | None:
    """Return the table's version before the change, creating an empty table if there is none.

    None if the change is already done.
    """
    now = table_progress(spark, table.reference, table.refresh)
    if now is None:
        create(spark, table, part, definition, {SOURCE: table.source}, version)
    elif not now.is_of(table.source):
        raise BinlakeError(
            _not_ours(table.reference, table.source), remedy="Move it away and run again."
        )
    return keep_base(spark, table, part.item, version)


def _begin(
    spark: SparkSession,
    table: GoldTable,
    part: Evolve,
    definition: TableDefinition,
    now: TableProgress | None,
    version: int,
) -> None:
    """Create the table with these columns, or empty it and replace its columns."""
    if now is None:
        create(spark, table, part, definition, progress_properties(table, part.item), version)
        # A run overtaken by a full refresh may have created it just before, with its position.
        now = table_progress(spark, table.reference, table.refresh) if table.refresh else None
        if now is None or now.reached >= part.item.position:
            return
    if keep_base(spark, table, part.item, version) is None:
        return  # another run has passed it
    _create_again(spark, table, part, definition, version)
    set_position(spark, table, part.item, version)


def create(
    spark: SparkSession,
    table: GoldTable,
    part: Evolve,
    definition: TableDefinition,
    properties: dict[str, str],
    version: int,
) -> None:
    """Create an empty table in one commit."""
    schema = gold_schema(definition, table.types)
    columns = [f"{quoted(field.name)} {field.dataType.simpleString()}" for field in schema.fields]
    by = ", ".join(map(quoted, clustering(schema, part.key)))
    if is_name(table.reference):
        delta.create_schema(spark, table.reference)
    statement = (
        f"CREATE TABLE IF NOT EXISTS {in_sql(table.reference)} ({', '.join(columns)}) USING delta"
        f"{f' CLUSTER BY ({by})' if by else ''}"
        f" TBLPROPERTIES ({properties_in_sql({**TABLE_PROPERTIES, **properties})})"
    )
    delta.commit(
        lambda: spark.sql(statement), app=table.app, version=version, table=table.reference
    )


def _create_again(
    spark: SparkSession,
    table: GoldTable,
    part: Evolve,
    definition: TableDefinition,
    version: int,
) -> None:
    """Empty the table and replace its columns, in place, so that published cuts stay readable."""
    schema = gold_schema(definition, table.types)
    empty = spark.createDataFrame([], schema)
    delta.overwrite_once(empty, table.reference, app=table.app, version=version)
    cluster(spark, table, part.item, clustering(schema, part.key), version)


def _delete_rows(spark: SparkSession, table: GoldTable, version: int, which: str = "") -> None:
    """Delete all rows, or those that satisfy the condition `which`."""
    delete = f"DELETE FROM {in_sql(table.reference)}{f' WHERE {which}' if which else ''}"
    delta.execute_once(spark, delete, table.reference, app=table.app, version=version)
