"""Gold tables created and given properties by this process are those that Spark would make."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession, types as st

from pipeline.gold.table.options import clustering_clause
from pipeline.gold.table.table_metadata import (
    create_table,
    set_clustering,
    set_columns,
    set_properties,
)
from pipeline.lake import delta
from pipeline.lake.delta_log.spark_written import clustered_by, properties
from pipeline.lake.delta_step import Step
from pipeline.lake.lazy_spark import Spark, SparkNeededError, unstarted
from pipeline.lake.sql_text import in_sql, quoted
from tests.support.spark.no_spark import NEVER_STARTED

VECTORS = {"delta.enableDeletionVectors": "true"}
NO_VECTORS = {"delta.enableDeletionVectors": "false"}
CLOCKS = {"delta.feature.timestampNtz": "supported"}
MAPPED = "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
OWN = {"binlake.source": "shop", "binlake.position": "7:4"}
SHORT = st.StructType([st.StructField("id", st.LongType()), st.StructField("é", st.StringType())])
LONG = st.StructType(
    [
        *SHORT.fields,
        *(
            st.StructField(f"c{n}", kind)
            for n, kind in enumerate(
                [
                    *(st.ByteType(), st.ShortType(), st.IntegerType(), st.FloatType()),
                    *(st.DoubleType(), st.BooleanType(), st.BinaryType(), st.DateType()),
                    *(st.DecimalType(20, 0), st.DecimalType(38, 30), st.TimestampType()),
                    *(st.TimestampNTZType(), st.ArrayType(st.FloatType())),
                ]
            )
        ),
    ]
)
TABLES = {
    "clustered": (LONG, ["id"], {**VECTORS, **CLOCKS}),
    "clustered by several": (LONG, ["id", "é"], {**VECTORS, **CLOCKS}),
    "not clustered": (LONG, [], {**VECTORS, **CLOCKS}),
    "no times": (SHORT, ["id"], VECTORS),
    "for any reader": (SHORT, ["id"], NO_VECTORS),
    "for any reader, with times": (LONG, ["id"], {**NO_VECTORS, **CLOCKS}),
    "of the oldest protocol": (SHORT, [], NO_VECTORS),
}


def actions(table: str, version: int) -> dict[str, Any]:
    """Return a commit's actions by their names, without what differs from one to the next."""
    lines = Path(table, "_delta_log", f"{version:020d}.json").read_text().splitlines()
    found = {name: action for line in lines for name, action in json.loads(line).items()}
    for name in ("timestamp", "txnId", "engineInfo", "userMetadata"):
        found["commitInfo"].pop(name, None)
    for name in ("clusterBy", "properties"):
        if name in found["commitInfo"]["operationParameters"]:
            text = found["commitInfo"]["operationParameters"][name]
            found["commitInfo"]["operationParameters"][name] = json.loads(text.replace("`", ""))
    return found | ({"metaData": metadata(found["metaData"])} if "metaData" in found else {})


def metadata(action: Mapping[str, Any]) -> dict[str, Any]:
    schema = json.loads(action["schemaString"])
    return {**action, "schemaString": schema, "id": "", "createdTime": 0}


def protocol(action: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sorted(v) if isinstance(v, list) else v for name, v in action.items()}


def checksum(table: str, version: int) -> dict[str, Any]:
    found = json.loads(Path(table, "_delta_log", f"{version:020d}.crc").read_bytes())
    found.pop("txnId")
    return found | {
        "metadata": metadata(found["metadata"]),
        "protocol": protocol(found["protocol"]),
    }


def make(
    spark: Spark, place: Path, schema: st.StructType, by: Sequence[str], given: Mapping[str, str]
) -> str:
    create_table(spark, str(place), schema, by, {**given, **OWN})
    return str(place)


def by_sql(
    spark: SparkSession,
    place: Path,
    schema: st.StructType,
    by: Sequence[str],
    given: Mapping[str, str],
) -> str:
    columns = ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in schema.fields)
    clustering = f"CLUSTER BY ({', '.join(map(quoted, by))})" if by else ""
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in {**given, **OWN}.items())
    spark.sql(
        f"CREATE TABLE delta.`{place}` ({columns}) USING delta {clustering} TBLPROPERTIES ({texts})"
    )
    return str(place)


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_created_and_gets_properties_as_by_spark(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    ours = make(NEVER_STARTED, tmp_path / "ours", *TABLES[kind])
    theirs = by_sql(spark, tmp_path / "theirs", *TABLES[kind])
    for name, action in actions(theirs, 0).items():
        made = actions(ours, 0).pop(name)
        if name == "protocol":
            made, action = protocol(made), protocol(action)
        assert made == action, name
    assert actions(ours, 0).keys() == actions(theirs, 0).keys()
    written, expected = checksum(ours, 0), checksum(theirs, 0)
    assert written == {name: expected[name] for name in written}
    assert clustered_by(NEVER_STARTED, ours) == tuple(TABLES[kind][1])

    more = {"binlake.position": "9:1", "binlake.base": "8:1@0"}
    set_properties(NEVER_STARTED, ours, more)
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in more.items())
    spark.sql(f"ALTER TABLE delta.`{theirs}` SET TBLPROPERTIES ({texts})")
    assert actions(ours, 1) == actions(theirs, 1)
    written, expected = checksum(ours, 1), checksum(theirs, 1)
    assert written == {name: expected[name] for name in written}
    assert properties(NEVER_STARTED, ours) == properties(NEVER_STARTED, theirs)


@pytest.mark.parametrize("kind", ["clustered by several", "of the oldest protocol"])
def test_spark_goes_on_with_the_table(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    schema, by, given = TABLES[kind]
    table = make(NEVER_STARTED, tmp_path / "t", schema, by, given)
    rows = spark.createDataFrame([(1, "a", *[None] * (len(schema) - 2))], schema)
    delta.append_once(rows, table, Step("test", 1))
    set_properties(NEVER_STARTED, table, {"binlake.position": "9:1"})
    spark.sql(f"ALTER TABLE {in_sql(table)} ADD COLUMNS (further int)")
    set_properties(NEVER_STARTED, table, {"binlake.position": "10:1"})
    spark.sql(f"DELETE FROM {in_sql(table)} WHERE id = 2")
    (row,) = delta.read(spark, table).collect()
    assert (row["id"], row["é"], row["further"]) == (1, "a", None)
    assert clustered_by(spark, table) == tuple(by)
    described = delta.described(spark, table)
    assert described["properties"]["binlake.position"] == "10:1"
    assert described["clusteringColumns"] == [quoted(name) if name == "é" else name for name in by]


def test_properties_keep_renamed_columns(spark: SparkSession, tmp_path: Path) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    spark.sql(f"ALTER TABLE {in_sql(table)} {MAPPED}")
    spark.sql(f"ALTER TABLE {in_sql(table)} RENAME COLUMN id TO number")
    set_properties(NEVER_STARTED, table, {"binlake.position": "9:1"})
    mapped = actions(table, DeltaTable(table).version())["metaData"]
    latest = actions(table, DeltaTable(table).version() - 1)["metaData"]
    assert mapped["schemaString"] == latest["schemaString"]  # with the names in files
    assert mapped["configuration"]["delta.columnMapping.maxColumnId"]
    assert clustered_by(spark, table) == ("number",)
    assert delta.read(spark, table).columns[0] == "number"


@pytest.mark.parametrize("by", [["c3", "id"], []], ids=["by others", "by none"])
def test_a_table_is_clustered_as_by_spark(
    spark: SparkSession, tmp_path: Path, by: list[str]
) -> None:
    ours = make(NEVER_STARTED, tmp_path / "ours", *TABLES["clustered"])
    theirs = by_sql(spark, tmp_path / "theirs", *TABLES["clustered"])
    set_clustering(NEVER_STARTED, ours, by)
    spark.sql(f"ALTER TABLE delta.`{theirs}` {clustering_clause(by)}")
    made, expected = actions(ours, 1), actions(theirs, 1)
    assert made["domainMetadata"] == expected["domainMetadata"]
    assert made["commitInfo"]["operation"] == expected["commitInfo"]["operation"]
    written = checksum(ours, 1)
    assert written == {name: checksum(theirs, 1)[name] for name in written}
    assert clustered_by(NEVER_STARTED, ours) == clustered_by(spark, ours) == tuple(by)


def test_renamed_columns_are_clustered_by_their_names_in_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    spark.sql(f"ALTER TABLE {in_sql(table)} {MAPPED}")
    spark.sql(f"ALTER TABLE {in_sql(table)} RENAME COLUMN c3 TO ratio")
    set_clustering(NEVER_STARTED, table, ["ratio"])
    assert delta.described(spark, table)["clusteringColumns"] == ["ratio"]


def test_a_table_without_clustering_is_clustered_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["not clustered"])
    set_clustering(spark, table, ["id"])
    assert clustered_by(NEVER_STARTED, table) == ("id",)


MORE = st.StructType(
    [LONG.fields[1], st.StructField("new", st.DateType()), *LONG.fields[2:], LONG.fields[0]]
)


def test_columns_are_added_and_moved_in_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    rows = spark.createDataFrame([(1, "a", *[None] * (len(LONG) - 2))], LONG)
    delta.append_once(rows, table, Step("test", 1))
    assert set_columns(NEVER_STARTED, table, MORE)
    assert DeltaTable(table).version() == 2
    assert delta.read(spark, table).schema == MORE
    (row,) = delta.read(spark, table).collect()
    assert (row["é"], row["new"], row["id"]) == ("a", None, 1)
    assert delta.history(spark, table, 1).first()["operation"] == "ADD COLUMNS"
    assert set_columns(NEVER_STARTED, table, st.StructType([*MORE.fields[1:], MORE.fields[0]]))
    assert delta.read(spark, table).columns[-1] == "é"


@pytest.mark.parametrize(
    "schema",
    [
        st.StructType(LONG.fields[1:]),
        st.StructType([st.StructField("id", st.StringType()), *LONG.fields[1:]]),
    ],
    ids=["without a column", "with another type"],
)
def test_other_changes_of_columns_are_left_to_spark(tmp_path: Path, schema: st.StructType) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    assert not set_columns(NEVER_STARTED, table, schema)
    assert DeltaTable(table).version() == 0


def test_mapped_columns_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    spark.sql(f"ALTER TABLE {in_sql(table)} {MAPPED}")
    assert not set_columns(NEVER_STARTED, table, MORE)


def test_a_table_is_created_once(tmp_path: Path) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    set_properties(NEVER_STARTED, table, {"binlake.position": "9:1"})
    make(NEVER_STARTED, tmp_path / "t", *TABLES["no times"])
    assert DeltaTable(table).version() == 1


def test_a_creation_that_was_interrupted_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    (tmp_path / "t" / "_delta_log" / "_commit_1.tmp").write_text("{")
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    assert DeltaTable(table).version() == 0


def test_spark_creates_a_table_where_links_are_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("this file system has no links")

    monkeypatch.setattr("os.link", refuse)
    table = make(spark, tmp_path / "t", *TABLES["clustered"])
    set_properties(spark, table, {"binlake.position": "9:1"})
    found = properties(NEVER_STARTED, table)
    assert found is not None
    assert found["binlake.position"] == "9:1"
    assert delta.history(spark, table).count() == 2


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (SHORT, {**VECTORS, "delta.enableChangeDataFeed": "true"}),
        (SHORT, {**VECTORS, "delta.columnMapping.mode": "name"}),
    ],
    ids=["a change data feed", "mapped columns"],
)
def test_unusual_tables_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, schema: st.StructType, given: Mapping[str, str]
) -> None:
    with pytest.raises(SparkNeededError):
        make(unstarted("local"), tmp_path / "t", schema, [], given)
    assert not (tmp_path / "t").exists()
    table = make(spark, tmp_path / "t", schema, [], given)
    found = properties(NEVER_STARTED, table)
    assert found is not None
    assert found.items() >= given.items()


@pytest.mark.parametrize("name", ["rows.parquet", "_delta_log/_last_checkpoint"])
def test_a_folder_with_files_is_left_to_spark(tmp_path: Path, name: str) -> None:
    file = tmp_path / "t" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    with pytest.raises(SparkNeededError):
        make(unstarted("local"), tmp_path / "t", *TABLES["clustered"])


@pytest.mark.parametrize("name", ["delta.appendOnly", "delta.enableChangeDataFeed"])
def test_properties_of_delta_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    with pytest.raises(SparkNeededError):
        set_properties(unstarted("local"), table, {name: "true"})
    set_properties(spark, table, {name: "true"})
    assert DeltaTable(table).history(1)[0]["engineInfo"].startswith("Apache-Spark")


def test_a_table_of_rarer_features_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    table = make(NEVER_STARTED, tmp_path / "t", *TABLES["clustered"])
    tracked = "'delta.enableInCommitTimestamps' = 'true'"
    spark.sql(f"ALTER TABLE {in_sql(table)} SET TBLPROPERTIES ({tracked})")
    with pytest.raises(SparkNeededError):
        set_properties(unstarted("local"), table, {"binlake.position": "9:1"})
