"""The Python examples of the docs, run page by page in order on the recorded shop."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import binlake
from pipeline.cli.app import main
from tests.support.binlake.code_blocks import ROOT, CodeBlock, code_blocks
from tests.support.gold.readers import duckdb_extension

GUIDES = "docs/guides"
RUN = {
    *("README.md", "docs/tutorial.md"),
    *(f"{GUIDES}/{name}.md" for name in ("python", "readers", "dataframe-source")),
}
LEFT_OUT = {f"{GUIDES}/airflow.md": "a DAG: nothing but Airflow runs it"}
"""Pages whose examples are only compiled, with the reason."""
BINLOGS = ROOT / "demo" / "binlogs"


@dataclass(frozen=True)
class Played:
    """Lake, variables and output of the examples in docs/guides/python.md, after they ran."""

    lake: Path
    names: Mapping[str, Any]
    records: list[binlake.RunRecord]
    output: str

    @property
    def orders(self) -> Path:
        return self.lake / "gold" / "shop" / "orders"


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("guide")
    lake, conf = folder / "lake", folder / "shop.yml"
    conf.write_text(f"source: shop\nlake: {lake}\nbinlogs: {BINLOGS}\n")
    records: list[binlake.RunRecord] = []
    with redirect_stdout(StringIO()) as output:
        for names in play(f"{GUIDES}/python.md", {}, lake, {"conf/shop.yml": str(conf)}):
            if "record" in names and names["record"] not in records:
                records.append(names["record"])
    return Played(lake, names, records, output.getvalue())


def play(
    page: str, names: dict[str, Any], lake: Path, places: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Run a page's programs with this machine's places; yield the variables after each."""
    common = {"s3://backup/binlogs": f"{BINLOGS}", "/backup/binlogs": f"{BINLOGS}"}
    blocks = [block for block in code_blocks("python") if block.page == page]
    assert all(any(written in block.code for block in blocks) for written in places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "displayhook", evaluate)
        for block in blocks:
            exec(program(block, {**common, "/data/lake": f"{lake}", **places}), names)
            yield names


def program(block: CodeBlock, places: Mapping[str, str]) -> Any:
    """Compile a block as a Python prompt does, which displays the values of expressions."""
    code = block.code
    for written, place in places.items():
        code = code.replace(written, place)
    if find_spec("polars") is None:
        code = "\n".join("" if "polars" in line else line for line in code.splitlines())
    tree = ast.Interactive(ast.parse(code).body)
    ast.increment_lineno(tree, block.line - 1)
    return compile(tree, str(ROOT / block.page), "single", dont_inherit=True)


def evaluate(value: object) -> None:
    """Let Spark do what it has only planned: read a frame, or write what a stream has."""
    if isinstance(value, DataFrame):
        value.collect()
    elif isinstance(value, StreamingQuery):
        value.processAllAvailable()
        value.stop()


def test_every_page_is_run_or_left_out() -> None:
    blocks = [*code_blocks("python")]
    assert {block.page for block in blocks} == RUN | LEFT_OUT.keys()
    for block in blocks:
        program(block, {})


def test_the_examples_run_and_the_commands_show_the_same(
    played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = played.names
    done, nothing_new = played.records
    assert (done.outcome, nothing_new.outcome) == ("done", "nothing_new")
    assert f"done {done.rows_applied_by_table}" in played.output
    assert done.rows_applied_by_table["shop.orders"] > 444
    expected = json.loads((ROOT / "demo" / "expected.json").read_text())
    assert {name: frame.count() for name, frame in names["shop"].items()} == {
        f"shop.{table}": int(rows) for table, (rows, *_) in expected.items()
    }
    assert {*names["earlier"]} == {"shop.orders", "shop.order_items"}
    assert names["orders"].num_rows == 444
    assert names["shop"].committed_at < datetime.now(timezone.utc)
    assert "no published snapshot at or before 2001-01-01" in played.output

    def printed(command: str) -> list[dict[str, Any]]:
        monkeypatch.setattr(sys, "argv", ["binlake", command, "--lake", f"{played.lake}", "--json"])
        with pytest.raises(SystemExit):
            main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    # Newest first: another page's runs come before.
    expected_runs = [json.loads(record.to_json()) for record in (nothing_new, done)]
    assert printed("runs")[-2:] == expected_runs
    (status,) = printed("status")
    assert ageless(status) == ageless(json.loads(binlake.status(played.lake).to_json()))
    (verification,) = printed("verify")
    assert verification == json.loads(binlake.verify(lake=played.lake).to_json())
    assert verification["tables"]


def ageless(status: dict[str, Any]) -> dict[str, Any]:
    """Return a status without what changes with the time of day."""
    sources = [{**source, "age_seconds": None} for source in status["sources"]]
    assert len(sources) == 1
    return {**status, "sources": sources}


def test_the_readme_and_the_tutorial_read_that_lake(spark: SparkSession, played: Played) -> None:
    (*_, names) = play("README.md", {"spark": spark}, played.lake, {})
    assert names["orders"].count() == 444
    assert [*play("docs/tutorial.md", {"spark": spark}, played.lake, {})]


def test_readers_read_a_table_and_its_changes(spark: SparkSession, played: Played) -> None:
    spark.sql(
        f"ALTER TABLE delta.`{played.orders}` SET TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    version = DeltaTable(played.orders).version()
    places = {'"startingVersion", 12': f'"startingVersion", {version}'}
    (*_, names) = play(f"{GUIDES}/readers.md", {"spark": spark}, played.lake, places)
    assert find_spec("polars") is None or len(names["orders"]) == 444


def test_duckdb_reads_the_same_table(played: Played) -> None:
    import duckdb

    (block,) = (one for one in code_blocks("sql") if one.page == f"{GUIDES}/readers.md")
    installing, loading = "INSTALL delta; LOAD delta;", f"LOAD '{duckdb_extension()}';"
    assert installing in block.code
    statements = block.code.replace(installing, loading).replace("/data/lake", f"{played.lake}")
    with duckdb.connect() as connection:
        assert len(connection.execute(statements).fetchall()) == 444


def test_the_log_is_read_as_a_batch_and_as_a_stream(
    spark: SparkSession, played: Played, tmp_path: Path
) -> None:
    places = {
        "/data/landed": f"{BINLOGS}",
        "/data/checkpoint": f"{tmp_path / 'checkpoint'}",
        '"orders_changes"': '"guide.orders_changes"',
    }
    spark.sql(f"CREATE DATABASE guide LOCATION '{tmp_path / 'guide'}'")
    try:
        session = spark.newSession()  # `register` changes its settings
        page = f"{GUIDES}/dataframe-source.md"
        assert [*play(page, {"spark": session}, played.lake, places)]
        logged = (each.batch for each in binlake.decode(BINLOGS) if each.table == "orders")
        rows = sum(batch.num_rows for batch in logged)
        assert session.table("guide.orders_changes").count() == rows > 444
    finally:
        spark.sql("DROP DATABASE guide CASCADE")
