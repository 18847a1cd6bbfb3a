"""dbt and dbt-duckdb parse the sources file, and run its tests and its freshness on Delta tables.

With DuckDB's extension for Delta, and the profile and the model of docs/guides/dbt.md. Gold has no
key twice: that dbt finds some is shown with tables that are not gold.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.gold.snapshot.description import DescribedColumn, DescribedTable
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.lake import Lake, delta
from pipeline.observe.progress import QuietProgress
from pipeline.run.dbt_sources import Freshness, dbt_sources
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from tests.support.binlake.code_blocks import ROOT, code_blocks
from tests.support.lake.run_layers import run_layers
from tests.support.programs.dbt_install import EXTENSIONS, dbt, why_unavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

NOW = datetime.now(timezone.utc)
PROJECT = "{name: shop, version: '1.0', profile: shop, config-version: 2}"
GUIDE = {
    block.language: block.code for block in code_blocks() if block.page == "docs/guides/dbt.md"
}
"""The guide's profile (yaml) and model (sql)."""
FRESHNESS = Freshness(timedelta(hours=36), timedelta(days=30))


def make(
    root: Path, name: TableName, columns: dict[str, list[Any]], key: tuple[str, ...], age: timedelta
) -> DescribedTable:
    """Write a table, and return what `describe_tables` does of it."""
    path = Lake(str(root)).gold(name.schema, name.table)
    count = len(next(iter(columns.values())))
    own = {LSN: [1] * count, COMMITTED_AT: [NOW - age] * count}
    write_deltalake(path, pa.table({**columns, **own}))
    described = [DescribedColumn(each, "bigint", each in key) for each in columns]
    described += [DescribedColumn(LSN, "bigint", False)]
    described += [DescribedColumn(COMMITTED_AT, "timestamp", False)]
    return DescribedTable(name, path, tuple(described), key, None, True, False)


def make_project(folder: Path) -> None:
    """Make a folder a dbt project with the guide's profile, but without its sources file."""
    if reason := why_unavailable():
        pytest.skip(reason)
    profile = yaml.safe_load(GUIDE["yaml"])
    extensions = {"extension_directory": str(EXTENSIONS)}
    profile["shop"]["outputs"]["dev"]["config_options"] = extensions
    (folder / "models").mkdir()
    (folder / "dbt_project.yml").write_text(PROJECT)
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dbt project whose sources have names of all kinds, and some keys twice."""
    folder = tmp_path_factory.mktemp("dbt")
    make_project(folder)
    hour, week = timedelta(hours=1), timedelta(days=7)
    lines = {"order": [1, 1], "Line no.": [1, 2]}
    tables = [
        make(folder, TableName("shop", "lines"), lines, tuple(lines), hour),
        make(folder, TableName("shop", "orders"), {"id": [1, 2], "größe": [3, 3]}, ("id",), hour),
        make(folder, TableName("shop", "pairs"), {"a": [1, 1], "b": [2, 2]}, ("a", "b"), week),
        make(folder, TableName("shop", "repeated"), {"id": [1, 1]}, ("id",), week),
        make(folder, TableName("web shop", "it's"), {"{{ x }}": [1]}, ("{{ x }}",), week),
    ]
    (folder / "models" / "sources.yml").write_text(dbt_sources("shop", tables, FRESHNESS))
    (folder / "models" / "totals.sql").write_text(
        "select count(*) as n from {{ source('shop', 'orders') }}"
    )
    return folder


def outcomes(project: Path, file: str) -> dict[str, str]:
    """Return the status of each node in a result of dbt, by the end of its id."""
    results = json.loads((project / "target" / file).read_text())["results"]
    return {result["unique_id"].split(".", 2)[2]: result["status"] for result in results}


def test_dbt_parses_the_file_without_a_warning(project: Path) -> None:
    parsed = dbt(project, "--warn-error", "parse", "--no-partial-parse")
    assert parsed.returncode == 0, parsed.stdout
    manifest = json.loads((project / "target" / "manifest.json").read_text())
    names = {(one["source_name"], one["name"]) for one in manifest["sources"].values()}
    assert {("shop", "orders"), ("shop", "lines")} < names
    orders = manifest["sources"]["source.shop.shop.orders"]
    assert orders["loaded_at_field"] == COMMITTED_AT
    assert orders["freshness"]["warn_after"] == {"count": 36, "period": "hour"}


def test_dbt_reads_the_tables_and_finds_repeated_keys(project: Path) -> None:
    dbt(project, "build")
    found = outcomes(project, "run_results.json")
    failed = {name.split(".")[0] for name, status in found.items() if status == "fail"}
    assert failed == {"unique_key_shop_pairs", "source_unique_shop_repeated__id_"}
    passed = [name for name, status in found.items() if status in ("pass", "success")]
    assert len(passed) == len(found) - len(failed) == 9
    assert "totals" in passed


def test_dbt_judges_freshness_by_the_last_change(project: Path) -> None:
    dbt(project, "source", "freshness")
    found = outcomes(project, "sources.json")
    assert {name: status for name, status in found.items() if name.startswith("shop.")} == {
        "shop.lines": "pass",
        "shop.orders": "pass",
        "shop.pairs": "warn",
        "shop.repeated": "warn",
    }
    assert set(found.values()) == {"pass", "warn"}


def test_gold_passes_its_tests_and_the_guides_model_has_its_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Gold of the recorded shop, whose folders also have files of earlier versions."""
    lake = Lake(str(tmp_path / "lake"))
    binlogs = str(ROOT / "demo" / "binlogs")
    run_layers(
        spark, Settings.load(None, source="shop", binlogs=binlogs, lake=lake.root), QuietProgress()
    )
    make_project(tmp_path)
    (tmp_path / "models" / "open_orders.sql").write_text(GUIDE["sql"])
    command = ["dbt-sources", "--lake", lake.root, "--to", str(tmp_path / "models" / "sources.yml")]
    written = CliRunner().invoke(app, command)
    assert written.exit_code == 0, written.output
    built = dbt(tmp_path, "build")
    assert built.returncode == 0, built.stdout
    found = outcomes(tmp_path, "run_results.json")
    assert set(found.values()) == {"pass", "success"}
    assert "unique_key_shop_order_items" in {name.split(".")[0] for name in found}

    orders = lake.gold("shop", "orders")
    count = "select count(*) as n from {{ ref('open_orders') }}"
    shown = dbt(tmp_path, "--quiet", "show", "--output", "json", "--inline", count)
    expected = delta.read(spark, orders).where("status = 'new'").count()
    assert json.loads(shown.stdout)["show"] == [{"n": expected}], shown.stdout
