"""Silver's tables: nullable columns, and the writer of each table."""

from __future__ import annotations

from typing import Any

import pytest

from decoder import TypeOptions
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.lake import Lake
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.native import NativeTables
from pipeline.silver.decode.silver_tables import (
    changes_table,
    committer,
    emptied_changes_table,
    is_mapped,
    quarantine_table,
    statements_table,
    transactions_table,
)
from tests.support.silver.made_silver import definition

LAKE = Lake("/lake")
TABLES = [
    transactions_table(LAKE),
    statements_table(LAKE),
    quarantine_table(LAKE),
    changes_table(LAKE, definition(), 1, TypeOptions()),
    emptied_changes_table(LAKE, "shop", "t", 1, mapped=False),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.reference)
def test_all_columns_are_nullable(table: Any) -> None:
    assert all(field.nullable for field in table.schema)
    assert set(table.statistics) <= set(table.schema.names)


@pytest.mark.parametrize(
    ("name", "mapped"),
    [
        ("v", False),
        ("ünï-v.1'`\"%", False),
        *((f"a{sign}b", True) for sign in " ,;{}()\n\t="),
    ],
)
def test_spark_commits_tables_with_column_mapping(name: str, mapped: bool) -> None:
    table = definition("t", ColumnDefinition(name, ColumnType.LONG), key=())
    found = changes_table(LAKE, table, 1, TypeOptions())
    native: Any = NativeTables(LAKE)
    spark: Any = None
    assert is_mapped(table) is mapped
    assert ("delta.columnMapping.mode" in found.properties) is mapped
    assert isinstance(committer(spark, native, found), SparkTables) is mapped
    emptied = emptied_changes_table(LAKE, "shop", "t", 1, mapped=mapped)
    assert (emptied.reference, emptied.properties) == (found.reference, found.properties)
    assert [field.name for field in found.schema] == [*emptied.schema.names, "before", "after"]
