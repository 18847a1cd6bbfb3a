"""What a table is, told by its checksum file, is what DESCRIBE DETAIL says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline import delta, stores
from pipeline.delta_checksum import Detail, told
from pipeline.delta_log import checksum_file, latest_version
from pipeline.sql_text import in_sql

MADE = """CREATE TABLE {table} (id INT, `a b` STRING, s STRUCT<x: INT>) USING delta {clustered}
    TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'binlake.source' = 's')"""


KEYS = ("metadata", "domainMetadata", "tableSizeBytes", "numFiles")
MISSING = "no such key"


def clustering(columns: str) -> dict[str, Any]:
    """The key that says what a table is clustered by."""
    text = f'{{"clusteringColumns": {columns}}}'
    domain = {"domain": "delta.clustering", "configuration": text, "removed": False}
    return {"domainMetadata": [domain]}


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> str:
    """Clustered, with columns that were renamed since, and with rows."""
    path = str(tmp_path / "t")
    spark.sql(MADE.format(table=in_sql(path), clustered="CLUSTER BY (`a b`, id)"))
    spark.sql(f"ALTER TABLE {in_sql(path)} RENAME COLUMN `a b` TO `c``d`")
    rows = spark.sql("SELECT 1 AS id, 'x' AS `c``d`, named_struct('x', 1) AS s")
    delta.append(rows, path, app="test")
    return path


@pytest.mark.parametrize(
    "change",
    [
        "SELECT 1",
        "ALTER TABLE {table} SET TBLPROPERTIES ('binlake.position' = '7:1')",
        "ALTER TABLE {table} UNSET TBLPROPERTIES ('binlake.source')",
        "ALTER TABLE {table} CLUSTER BY (id)",
        "ALTER TABLE {table} CLUSTER BY NONE",
        "ALTER TABLE {table} CLUSTER BY (s.x)",
        "ALTER TABLE {table} ADD COLUMN (e INT)",
        "ALTER TABLE {table} DROP COLUMN s",
        "DELETE FROM {table}",
        "OPTIMIZE {table} FULL",
    ],
)
def test_it_is_what_delta_says(spark: SparkSession, table: str, change: str) -> None:
    spark.sql(change.format(table=in_sql(table))).collect()
    described = delta.described(spark, table)
    assert delta.detail(spark, table) == described
    by_a_field = "s.x" in change
    assert told(table) == (None if by_a_field else described)


def test_it_is_of_the_latest_of_many_versions(spark: SparkSession, table: str) -> None:
    for number in range(12):  # over a checkpoint
        spark.sql(f"ALTER TABLE {in_sql(table)} SET TBLPROPERTIES ('binlake.n' = '{number}')")
        found = told(table)
        assert found is not None
        assert found.properties["binlake.n"] == str(number)


def test_of_one_without_mapped_columns_and_without_clustering(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = str(tmp_path / "plain")
    delta.append(spark.range(3), table, app="test")
    assert told(table) == delta.described(spark, table) == delta.found(spark, table)


def test_delta_is_asked_where_the_store_cannot_be_read(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoCredentialsError(Exception):
        """Each store's client has errors of its own."""

    def cat(path: str) -> bytes:
        raise NoCredentialsError(path)

    expected = told(table)
    monkeypatch.setattr(stores, "content", cat)
    assert told(table) is None
    assert delta.found(spark, table) == expected
    assert delta.exists(spark, table)


def test_of_a_table_that_is_not_there_nothing_is_told(spark: SparkSession, tmp_path: Path) -> None:
    assert told(str(tmp_path / "none")) is None
    assert not delta.exists(spark, str(tmp_path / "none"))
    assert delta.found(spark, str(tmp_path / "none")) is None
    assert told("`main`.`lake`.`t`") is None


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(None, id="there is none"),
        pytest.param("", id="empty"),
        pytest.param('{"metadata": ', id="half written"),
        pytest.param("7", id="no object"),
        *(pytest.param({key: MISSING}, id=f"without {key}") for key in KEYS),
        *(pytest.param({key: None}, id=f"{key} is null") for key in KEYS),
        pytest.param({"numFiles": "1"}, id="a number as text"),
        *(
            pytest.param(clustering(columns), id=f"by {columns}")
            for columns in ("[[]]", "7", "[1]")
        ),
        pytest.param(clustering('[["nobody"]]'), id="by a column that is not there"),
    ],
)
def test_delta_is_asked_where_the_file_does_not_tell(
    spark: SparkSession, table: str, damage: str | dict[str, Any] | None
) -> None:
    expected = told(table)
    version = latest_version(table)
    assert version is not None
    file = Path(checksum_file(table, version))
    if damage is None:
        file.unlink()
    elif isinstance(damage, str):
        file.write_text(damage)
    else:
        content = json.loads(file.read_text())
        changed = {key: value for key, value in {**content, **damage}.items() if value != MISSING}
        file.write_text(json.dumps(changed))
    assert told(table) is None
    assert delta.detail(spark, table) == expected
    assert isinstance(expected, Detail)
    assert expected.clustered == ("c`d", "id")
    assert delta.exists(spark, table)
