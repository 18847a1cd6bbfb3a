"""A page read from a lake, without Spark: runs, sizes, schema changes and the last comparison."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.cli import app as cli
from pipeline.errors import SettingsError
from pipeline.lake.delta_step import Step
from pipeline.lake.ledger.run_record import RunRecord, Sentence
from pipeline.lake.ledger.run_store import append_run
from pipeline.lake.tables.choice import tables_of
from pipeline.observe.progress import QuietProgress
from pipeline.run.page.lake_page import LakePage, read_page
from pipeline.settings import Settings
from pipeline.silver.decode.silver_tables import statements_table
from tests.support.page.made_page import made_run
from tests.support.silver.made_silver import (
    SOURCE,
    MadeSilver,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)
from tests.support.spark.no_spark import NEVER_STARTED

NOW = datetime.now(timezone.utc)
T, LATER = definition("t"), definition("later")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with two tables, three runs, a comparison with a server, and DDL of two days."""
    folder = tmp_path_factory.mktemp("page") / "lake"
    silver = MadeSilver(NEVER_STARTED, str(folder))
    items = [item("create", 2, T), item("create", 3, LATER), item("observed", 4, T)]
    # One table was read again from its creation on.
    items += [item("rewound", 3, LATER), item("create", 3, LATER)]
    silver.batch([Tx(n).insert(T, n, "a") for n in range(2, 5)], items, [(4, ["shop.later"])])
    _statements(silver, {2: NOW - timedelta(days=40), 3: NOW - timedelta(hours=2)})
    for run in _runs():
        append_run(NEVER_STARTED, silver.lake, run)
    return folder


def _runs() -> list[RunRecord]:
    done = made_run(NOW - timedelta(hours=2), source=SOURCE, rows={"shop.t": 3})
    late = made_run(NOW - timedelta(days=35), source=SOURCE, rows={"shop.t": 9})
    verified = made_run(NOW - timedelta(hours=1), source=SOURCE, command="verify")
    notes = (Sentence("verify", "2 tables compared with db at LSN 7."),)
    return [late, replace(done, notes=notes), replace(verified, notes=notes)]


def _statements(silver: MadeSilver, times: dict[int, datetime]) -> None:
    rows = [
        {"source": SOURCE, "batch": 1, "__lsn": lsn(n), "query": "CREATE", "committed_at": at}
        for n, at in times.items()
    ]
    table = statements_table(silver.lake)
    rows_of = pa.Table.from_pylist(rows, schema=table.schema)
    tables_of(NEVER_STARTED, silver.lake).append(table, rows_of, Step("silver/statements", 1))


def settings(folder: Path) -> Settings:
    return Settings(source=SOURCE, lake=str(folder))


def read(folder: Path, *, days: int = 30, source: str | None = None) -> LakePage:
    return read_page(NEVER_STARTED, settings(folder), QuietProgress(), days=days, source=source)


def test_a_page_has_the_runs_and_changes_of_its_days(folder: Path) -> None:
    page = read(folder)
    assert [run.command for run in page.runs] == ["verify", "run"]
    assert [(one.table, one.what) for one in page.schema_changes] == [("shop.later", "created")]
    longer = read(folder, days=50)
    assert len(longer.runs) == 3
    assert [one.table for one in longer.schema_changes] == ["shop.later", "shop.t"]
    # Sentences of thousands of runs are not read, but those of the last comparison are.
    assert page.runs[1].notes == ()
    (verified,) = page.verifications
    assert verified.notes[0].sentence == "2 tables compared with db at LSN 7."


def test_the_last_run_is_not_a_comparison(folder: Path) -> None:
    (source,) = read(folder).status.sources
    assert source.last_run is not None
    assert source.last_run.command == "run"


def test_sizes_are_those_of_the_delta_logs(folder: Path) -> None:
    sizes = {one.name: one for one in read(folder).sizes}
    assert "ledger/runs" in sizes
    assert "gold/_cuts" not in sizes
    own = sizes["silver/shop/t/v1"]
    stored = list((folder / "silver" / "changes" / "shop" / "t" / "v1").glob("*.parquet"))
    assert (own.files, own.bytes) == (len(stored), sum(file.stat().st_size for file in stored))


def test_another_source_is_refused(folder: Path) -> None:
    assert read(folder, source=SOURCE).source == SOURCE
    with pytest.raises(SettingsError, match="no source named erp"):
        read(folder, source="erp")


def test_the_command_writes_the_page_and_prints_its_size(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("pipeline.spark.session.spark_for", lambda *_: NEVER_STARTED)
    file = tmp_path / "pages" / "lake.html"
    command = ("report", "--lake", str(folder), "--html", str(file))
    cli.app([*command], standalone_mode=False)
    text = file.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert str(folder) in text
    assert capsys.readouterr().out == f"{file}: {len(text.encode()) / 1024:,.1f} KiB\n"
    assert [each.name for each in file.parent.iterdir()] == ["lake.html"]
    cli.app([*command, "--quiet", "--days", "1", "--source", SOURCE], standalone_mode=False)
    assert capsys.readouterr().out == ""
    assert "Only source made." in file.read_text()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--html", "{folder}"), "html: {folder} is a folder."),
        (("--html", "{folder}/new.html", "--lake", "{folder}/none"), "lake: there is no lake in"),
        (("--html", "ftpx://a/b.html"), "html: ftpx://a/b.html cannot be read: Protocol not known"),
    ],
)
def test_a_wrong_place_is_one_line(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    sentence: str,
) -> None:
    given = [option.format(folder=tmp_path) for option in ("--lake", str(folder), *options)]
    monkeypatch.setattr(sys, "argv", ["binlake", "report", *given])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"binlake: {sentence.format(folder=tmp_path)}")
    assert shown.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
