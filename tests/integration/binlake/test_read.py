"""`binlake.read`: the tables of one snapshot by Spark, Polars or Arrow, whatever is applied
later.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import binlake
from pipeline.cli.app import app
from pipeline.gold.plan.cuts_table import find_cut
from pipeline.gold.snapshot.description import describe_tables
from pipeline.lake import Lake
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.native import NativeTables
from pipeline.settings.until import Until
from tests.support.gold.made_lake import MadeLake
from tests.support.gold.three_snapshots import (
    ALTERED,
    FILE,
    FIRST,
    JAR,
    ORDERS,
    SECOND,
    THIRD,
    arrow,
    lake_with_snapshots,
    rows,
)
from tests.support.lake.object_store import object_store
from tests.support.lake.table_rows import read_table
from tests.support.silver.made_silver import (
    SERVER,
    SOURCE,
    START,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)
from tests.support.spark.no_spark import NEVER_STARTED

ROOT = Path(__file__).parents[3]
ENGINES = ["spark", "arrow", "polars"]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> MadeLake:
    return lake_with_snapshots(spark, tmp_path_factory.mktemp("read") / "lake")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "polars":
        pytest.importorskip("polars")
    return request.param


def test_deletion_vectors_are_in_these_tables(lake: MadeLake) -> None:
    folder = Path(Lake(lake.root).gold("shop", "items"), "_delta_log")
    assert '"deletionVector":{' in "".join(file.read_text() for file in folder.glob("*.json"))


@pytest.mark.parametrize(
    ("at", "n", "expected"),
    [
        (lsn(2), 2, FIRST),
        (str(lsn(4) - 1), 3, SECOND),
        (f"{SERVER}:3", 3, SECOND),
        (START + timedelta(seconds=2.5), 2, FIRST),
        ("2024-01-01T00:00:03Z", 3, SECOND),
        (f"{FILE}:4000", 3, SECOND),
        (f"{FILE}:3999", 2, FIRST),
    ],
)
def test_a_snapshot_is_that_of_a_position_or_a_time(
    lake: MadeLake, at: Any, n: int, expected: dict[str, Any]
) -> None:
    found = binlake.read(lake.root, at, engine="arrow")
    assert (rows(found), found.lsn) == (expected, lsn(n))


@pytest.mark.parametrize(("at", "n", "expected"), [(None, 5, THIRD), (lsn(3), 3, SECOND)])
def test_all_tables_are_of_one_snapshot(
    lake: MadeLake, engine: Any, at: Any, n: int, expected: dict[str, Any]
) -> None:
    found = binlake.read(lake.root, at, engine=engine)
    assert rows(found) == expected
    gtids = f"{SERVER}:2-{n}".removesuffix("-2")
    assert (found.source, found.lsn, found.gtid_set) == (SOURCE, lsn(n), gtids)
    assert found.committed_at == START + timedelta(seconds=n)
    gone = {"shop.gone"} if n == 5 else set()
    assert (found.held, found.incomplete) == (frozenset(), gone)


@pytest.mark.parametrize("at", [None, f"{SERVER}:3", f"{FILE}:3999", "2024-01-01T00:00:03Z"])
def test_spark_finds_the_same_snapshot(lake: MadeLake, at: str | None) -> None:
    place, until = Lake(lake.root), None if at is None else Until.read(at)
    found = find_cut(SparkTables(lake.spark, place), at=until)
    assert found == find_cut(NativeTables(place), at=until)


@pytest.mark.parametrize("at", [None, lsn(2)])
def test_engines_agree_on_columns_and_types(lake: MadeLake, at: int | None) -> None:
    by_spark, by_arrow = (
        binlake.read(lake.root, at, engine=engine, tables=["shop.i*"])["shop.items"]
        for engine in ("spark", "arrow")
    )
    assert isinstance(by_arrow, pa.Table)
    theirs = arrow(by_spark).schema
    assert by_arrow.schema.names == theirs.names
    assert [str(t) for t in by_arrow.schema.types] == [str(t) for t in theirs.types]
    assert not any(field.metadata for field in by_arrow.schema)


def test_polars_gets_polars_types(lake: MadeLake) -> None:
    polars = pytest.importorskip("polars")
    (table,) = binlake.read(lake.root, engine="polars", tables=["*.items"]).values()
    assert isinstance(table, polars.DataFrame)
    assert table.schema["price"] == polars.Decimal(10, 2)
    assert table.schema["__committed_at"] == polars.Datetime("us", "UTC")
    assert table.schema["shape"] == polars.Struct({"srid": polars.Int32, "wkb": polars.Binary})


def test_frames_do_not_change_when_gold_does(lake: MadeLake, tmp_path: Path) -> None:
    """Tables that are held, or incomplete, are named."""
    copied = MadeLake(lake.spark, tmp_path / "lake")
    shutil.copytree(lake.root, copied.root)
    copied.silver.batches = lake.silver.batches
    before = binlake.read(copied.root, tables=["shop.orders"])
    settled = binlake.read(copied.root, engine="arrow")
    late = definition("late")
    copied.silver.batch(
        [Tx(6).insert(ORDERS, 8, "late").insert(late, 1, "a").delete(ALTERED, *JAR, version=2)],
        [item("observed", 6, late)],
        faults=[(6, ["shop.items"])],
    )
    copied.run()
    assert rows(before) == {"shop.orders": THIRD["shop.orders"]}
    assert rows(settled) == THIRD
    assert rows(binlake.read(copied.root, lsn(5), engine="arrow")) == THIRD
    after = binlake.read(copied.root, engine="arrow")
    assert (after.held, after.incomplete) == ({"shop.items"}, {"shop.late", "shop.gone"})
    found = rows(after)
    assert found["shop.orders"] == [(7, "sent"), (8, "late")]
    assert found["shop.items"] == THIRD["shop.items"]
    assert binlake.read(copied.root, engine="arrow", tables=["shop.orders"]).held == frozenset()


@pytest.mark.parametrize("engine", ["spark", "arrow"])
def test_a_recreated_table_is_not_read_in_place_of_the_lost_one(
    lake: MadeLake, tmp_path: Path, engine: Any
) -> None:
    root = tmp_path / "lake"
    shutil.copytree(lake.root, root)
    folder = Path(Lake(str(root)).gold("shop", "orders"))
    shutil.rmtree(folder)
    with pytest.raises(binlake.LostSnapshotError, match=r"shop\.orders .* there is no table"):
        binlake.read(root, engine="arrow")
    for _ in range(9):
        write_deltalake(folder, pa.table({"id": [0, 1, 2]}), mode="append")
    with pytest.raises(binlake.LostSnapshotError, match="another table is at") as raised:
        binlake.read(root, engine=engine)
    assert raised.value.table == "shop.orders"
    assert rows(binlake.read(root, engine=engine, tables=["shop.items"]))


def test_missing_files_are_reported_with_their_table(lake: MadeLake, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    shutil.copytree(lake.root, root)
    for file in Path(Lake(str(root)).gold("shop", "items")).rglob("part-*.parquet"):
        file.unlink()
    with pytest.raises(binlake.LostSnapshotError, match=r"shop\.items cannot be read at version"):
        binlake.read(root, engine="arrow")


WITHOUT_SPARK = """
import sys
sys.modules.update(pyspark=None, delta=None)
import binlake
lake, *places = sys.argv[1:]
for at in places:
    try:
        found = binlake.read(lake, at, engine="arrow")
        print(sorted(found), sorted(found["shop.items"].column("id").to_pylist()))
    except binlake.BinlakeError as error:
        print("retryable" if error.retryable else error)
try:
    binlake.read(lake)
except binlake.BinlakeError as error:
    print(error)
"""


def test_only_the_spark_engine_needs_spark(lake: MadeLake, tmp_path: Path) -> None:
    """Nor does a lake in an object store, read in a separate process: delta-rs holds the GIL, which
    the local store needs."""
    conf = tmp_path / "conf.yml"
    environment = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}

    def read(lake: str, *places: str) -> list[str]:
        command = [sys.executable, "-c", WITHOUT_SPARK, lake, *places]
        settings = {**environment, "AWS_EC2_METADATA_DISABLED": "true"}
        ran = subprocess.run(
            command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == 0, ran.stderr
        *found, message = ran.stdout.splitlines()
        assert message.startswith("engine='spark' needs pyspark, which is not installed. pip ")
        return found

    earlier = [str(lsn(3)), f"{SERVER}:3", f"{FILE}:4000", "2024-01-01T00:00:03Z"]
    tables = ["shop.gone", "shop.items", "shop.orders"]
    assert read(lake.root, *earlier) == [f"{tables} [1, 3]"] * 4
    with object_store() as store:
        settings = {"lake": "s3a://bucket/lake", "spark": {"conf": store.conf}}
        conf.write_text(json.dumps(settings))  # JSON is YAML, too
        for file in Path(lake.root).rglob("*"):
            if file.is_file() and not file.name.endswith(".crc"):
                store.put_file(file, f"bucket/lake/{file.relative_to(lake.root)}")
        found = read(str(conf), str(lsn(5)), f"{SERVER}:3")
        assert found == [f"{tables} [1, 3, 4]", f"{tables} [1, 3]"]
        with store.rejecting_all_keys():
            assert read(str(conf), str(lsn(5))) == ["retryable"]


def test_invalid_arguments_are_refused(
    lake: MadeLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("engine", "'pandas' is unknown. Use spark, polars or arrow", {"engine": "pandas"}),
        ("at", "'yesterday' is not a time", {"at": "yesterday"}),
        ("at", "no published snapshot at or before 1", {"at": 1}),
        ("source", "no published snapshot of none", {"source": "none"}),
    ]
    for key, message, options in cases:
        with pytest.raises(binlake.SettingsError, match=message) as raised:
            binlake.read(lake.root, **{"engine": "arrow", **options})
        assert raised.value.key == key
    with pytest.raises(binlake.SettingsError, match="has no published snapshot"):
        binlake.read(tmp_path, engine="arrow")
    settings = lake.settings(catalog="main")
    with pytest.raises(binlake.SettingsError, match="not those of a catalog"):
        binlake.read(settings, engine="arrow")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(binlake.BinlakeError, match=r"pip install 'binlake\[polars\]'"):
        binlake.read(lake.root, engine="polars")


def copied(lake: MadeLake, to: Path, *options: str, code: int = 0) -> Any:
    """Run `binlake read`; return what it prints as JSON, or its message if it is refused."""
    command = ["read", "--lake", lake.root, "--to", str(to), "--json", *options]
    result = CliRunner().invoke(app, command)
    if isinstance(result.exception, binlake.BinlakeError):
        assert result.exception.exit_code == code
        return str(result.exception)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_a_snapshot_is_copied_to_delta_tables_and_an_interrupted_copy_is_continued(
    lake: MadeLake, tmp_path: Path
) -> None:
    to = tmp_path / "copy"
    first = copied(lake, to, "--table", "shop.items")
    assert [(t["table"], t["already_there"]) for t in first["tables"]] == [("items", False)]
    found = copied(lake, to)
    assert (found["source"], found["lsn"]) == (SOURCE, lsn(5))
    assert {t["table"]: (t["already_there"], t["complete"]) for t in found["tables"]} == {
        "gone": (False, False),
        "items": (True, True),
        "orders": (False, True),
    }
    assert [t["path"] for t in found["tables"]] == [
        str(to / "shop" / t["table"]) for t in found["tables"]
    ]
    snapshot = binlake.read(lake.root, engine="arrow")
    for table in found["tables"]:
        expected = snapshot[f"shop.{table['table']}"].sort_by("id")
        assert read_table(table["path"])[1].sort_by("id").to_pylist() == expected.to_pylist()
        assert len(list(Path(table["path"], "_delta_log").glob("*.json"))) == 1
    items = lake.spark.read.format("delta").load(str(to / "shop" / "items")).toArrow()
    expected = snapshot["shop.items"]
    assert items.sort_by("id").to_pylist() == expected.sort_by("id").to_pylist()
    assert [str(t) for t in items.schema.types] == [str(t) for t in expected.schema.types]
    refused = copied(lake, to, "--at", str(lsn(3)), code=2)
    assert f"{to}/shop/" in refused
    assert "is a table already, and not shop." in refused
    assert copied(lake, to)["tables"] == [{**t, "already_there": True} for t in found["tables"]]


def test_an_earlier_snapshot_is_copied(lake: MadeLake, tmp_path: Path) -> None:
    found = copied(lake, tmp_path, "--at", "2024-01-01T00:00:03Z")
    assert found["lsn"] == lsn(3)
    assert len(read_table(str(tmp_path / "shop" / "items"))[1]) == len(SECOND["shop.items"])


def test_a_copy_is_not_made_in_the_lake_or_over_other_tables(
    lake: MadeLake, tmp_path: Path
) -> None:
    before = sorted(Path(lake.root).rglob("*"))
    assert "is in the lake" in copied(lake, Path(lake.root, "gold"), code=2)
    other = tmp_path / "shop" / "orders"
    write_deltalake(other, pa.table({"id": [0, 1, 2]}))
    assert f"{other} is a table already" in copied(lake, tmp_path, code=2)
    mistake = copied(lake, tmp_path / "none", "--table", "shop.order", code=2)
    assert "no table of the snapshot matches shop.order." in mistake
    assert len(read_table(str(other))[1]) == 3
    assert sorted(Path(lake.root).rglob("*")) == before


def test_spark_copies_a_lake_that_only_it_can_read(
    lake: MadeLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.gold.snapshot.copy.native_tables", lambda _: None)
    found = copied(lake, tmp_path, "--table", "shop.items")
    again = copied(lake, tmp_path, "--table", "shop.items")
    assert [t["already_there"] for t in (*found["tables"], *again["tables"])] == [False, True]
    _, rows = read_table(str(tmp_path / "shop" / "items"))
    expected = binlake.read(lake.root, engine="arrow")["shop.items"]
    assert rows.sort_by("id").to_pylist() == expected.sort_by("id").to_pylist()
    refused = copied(lake, tmp_path, "--table", "shop.items", "--at", str(lsn(3)), code=2)
    assert "is a table already" in refused


def test_tables_are_described_as_spark_reads_them(lake: MadeLake) -> None:
    source, tables = describe_tables(NEVER_STARTED, lake.settings(keys={"shop.items": ["id"]}))
    assert source == SOURCE
    assert [(t.name.table, t.key, t.complete, t.dropped) for t in tables] == [
        ("gone", ("id",), False, True),
        ("items", ("id",), True, False),
        ("orders", ("id",), True, False),
    ]
    for table in tables:
        fields = lake.spark.read.format("delta").load(table.reference).schema.fields
        assert [(c.name, c.type) for c in table.columns] == [
            (field.name, field.dataType.simpleString()) for field in fields
        ]
        assert [c.name for c in table.columns if c.required] == ["id"]


def test_the_sources_file_for_dbt_is_printed_or_written(lake: MadeLake, tmp_path: Path) -> None:
    command = ["dbt-sources", "--lake", lake.root, "--table", "shop.i*"]
    printed = CliRunner().invoke(app, command)
    assert printed.exit_code == 0, printed.output
    ((table,),) = (source["tables"] for source in yaml.safe_load(printed.stdout)["sources"])
    columns = [column["name"] for column in table["columns"]]
    assert columns == ["id", "a.b ü", "price", "shape", "__lsn", "__committed_at"]
    assert table["columns"][0]["data_tests"] == ["not_null", "unique"]
    file = tmp_path / "sources.yml"
    assert CliRunner().invoke(app, [*command, "--to", str(file)]).stdout == ""
    assert file.read_text() == printed.stdout
    wrong = CliRunner().invoke(app, [*command, "--warn-after", "30"])
    assert (wrong.exit_code, "not a duration" in wrong.stderr) == (2, True)


@pytest.mark.skipif(find_spec("polars") is None, reason="Polars is not installed")
def test_polars_own_reader_rejects_these_tables(lake: MadeLake) -> None:
    """The reason for reading through delta-rs: if this fails, Polars may have become sufficient."""
    import polars

    with pytest.raises(Exception, match=r"(?i)unsupported|column.?mapping|feature|not supported"):
        polars.read_delta(Lake(lake.root).gold("shop", "items"))
