"""The tests' reader of gold without Spark returns what Spark returns for tables like gold's."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.gold.table.options import TableOptions
from pipeline.gold.table.table_metadata import properties_in_sql
from pipeline.lake import delta
from pipeline.lake.delta_log.column_features import COLUMN_MAPPING, WALL_CLOCKS, enabling
from tests.support.lake.table_rows import read_table

COLUMNS = """
    id INT, `a.b ü` STRING, raw BINARY, price DECIMAL(20, 4), ratio FLOAT, score DOUBLE,
    day DATE, at TIMESTAMP_NTZ, seen TIMESTAMP, small SMALLINT, tiny TINYINT, active BOOLEAN,
    place STRUCT<srid: INT, wkb: BINARY>, vector ARRAY<FLOAT>
"""
ROW = """
    ({}, 'x', X'00ff', 1.5, float(0.1), -0.0D, DATE'1000-01-01', TIMESTAMP_NTZ'9999-12-31 23:59:59',
     TIMESTAMP'1970-01-01 00:00:01.000001', 1S, 1Y, true,
     named_struct('srid', 4326, 'wkb', X'01'), array(float(0.5)))
"""


def test_deleted_rows_and_changed_columns(spark: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "table")
    table = f"delta.`{place}`"
    nothing = ", ".join(["3", *["NULL"] * 13])
    properties = properties_in_sql(
        {**enabling([COLUMN_MAPPING, WALL_CLOCKS]), **TableOptions().initial_properties}
    )
    statements = (
        f"CREATE TABLE {table} ({COLUMNS}) USING delta TBLPROPERTIES ({properties})",
        f"INSERT INTO {table} VALUES {ROW.format(1)}, {ROW.format(2)}, ({nothing})",
        f"DELETE FROM {table} WHERE id = 2",
        f"ALTER TABLE {table} RENAME COLUMN `a.b ü` TO `b c`",
        f"ALTER TABLE {table} DROP COLUMN tiny",
        f"ALTER TABLE {table} ADD COLUMNS (tiny STRING FIRST)",
        f"INSERT INTO {table} (id, tiny) VALUES (4, 'new')",
    )
    for statement in statements:
        spark.sql(statement)
    log = "".join(file.read_text() for file in Path(place, "_delta_log").glob("*.json"))
    assert '"deletionVector"' in log

    for version, ids in ((2, [1, 3]), (None, [1, 3, 4])):
        expected = delta.read(spark, place, version=version)
        schema, rows = read_table(place, version)
        assert schema.simpleString() == expected.schema.simpleString()
        rows, theirs = rows.sort_by("id"), expected.toArrow().sort_by("id")
        assert rows["id"].to_pylist() == ids
        assert repr(rows.to_pylist()) == repr(theirs.to_pylist())
        assert rows.schema.types == theirs.schema.types
