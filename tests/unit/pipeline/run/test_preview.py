"""`--dry-run`: what it lists is what the run then does, and it writes nothing. Without Spark."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.bronze import job as bronze_job
from pipeline.cli.app import app
from pipeline.errors import SettingsError
from pipeline.observe.progress import QuietProgress
from pipeline.run.operations import run_preview
from pipeline.run.preview import RunPreview, preview
from pipeline.silver import job as silver_job
from pipeline.silver.job import run as decode
from tests.support.bronze.bronze_input import FILES, Bronze
from tests.support.spark.no_spark import NEVER_STARTED

Files = dict[str, tuple[int, bytes]]


def files_below(folder: str) -> Files:
    """Return every file's modification time and content."""
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


def dry_run(bronze: Bronze, command: str = "run", **settings: object) -> RunPreview:
    """Return the preview; fail if anything in the lake changed."""
    before = files_below(bronze.lake.root)
    found = preview(NEVER_STARTED, bronze.settings.updated(**settings), QuietProgress(), command)
    assert files_below(bronze.lake.root) == before
    return found


@pytest.fixture
def bronze(tmp_path: Path) -> Bronze:
    """Two files that nothing has read yet."""
    made = Bronze(NEVER_STARTED, tmp_path)
    for file in FILES[:2]:
        made.put(file)
    return made


def test_each_layer_lists_what_its_run_then_does(bronze: Bronze) -> None:
    found = dry_run(bronze)
    assert not Path(bronze.lake.root).exists()
    assert found.bronze is not None
    sizes = [(file.name, file.stat().st_size, False) for file in FILES[:2]]
    assert [(one.file, one.bytes, one.known) for one in found.bronze.files] == sizes
    assert found.silver is not None
    assert found.gold is not None
    assert (found.silver.segments, found.gold.tables, found.undecoded) == (0, (), True)

    report = bronze.run()
    assert report.counts["bytes"] == sum(size for _, size, _ in sizes)
    found = dry_run(bronze)
    assert found.bronze is not None
    assert found.silver is not None
    assert found.bronze.files == ()
    counts = found.silver.segments, found.silver.bytes
    assert counts == (report.counts["segments"], report.counts["bytes"])
    assert "shop.orders" in found.silver.tables
    assert found.gold is not None
    assert found.gold.tables == ()

    decoded = decode(NEVER_STARTED, bronze.settings, QuietProgress())
    assert found.silver.transactions == decoded.counts["transactions"]
    found = dry_run(bronze)
    assert found.silver is not None
    assert found.gold is not None
    assert (found.silver.segments, found.undecoded) == (0, False)
    tables = {f"{one.schema}.{one.table}": one for one in found.gold.tables}
    assert sum(one.changes for one in tables.values()) == decoded.counts["rows"]
    orders = tables["shop.orders"]
    assert (orders.new, orders.held, orders.schema_changes > 0) == (True, None, True)
    written = Path(bronze.lake.changes("shop", "orders", 1)).glob("*.parquet")
    assert orders.bytes is not None
    assert orders.bytes >= sum(file.stat().st_size for file in written) > 0
    assert (found.gold.from_lsn, found.gold.to_lsn > 0) == (0, True)

    place = f"{FILES[0].name}:{FILES[0].stat().st_size}"
    until = dry_run(bronze, until=place).gold
    assert until is not None
    assert (until.until_stops, until.to_lsn < found.gold.to_lsn) == (True, True)
    assert sum(one.changes for one in until.tables) < decoded.counts["rows"]
    none = dry_run(bronze, exclude=["shop.orders"]).gold
    assert none is not None
    assert "orders" not in [one.table for one in none.tables]


def test_files_that_grew_or_are_compressed(bronze: Bronze) -> None:
    bronze.put(FILES[1], 200_000, in_use=True)
    bronze.run()
    (stored,) = (row for row in bronze.rows().values() if row.file == FILES[1].name)
    bronze.put(FILES[1])
    packed = gzip.compress(FILES[2].read_bytes())
    bronze.put_bytes(f"{FILES[2].name}.gz", packed)
    (bronze.input / "notes.txt").write_text("not a log")
    found = dry_run(bronze, "ingest").bronze
    assert found is not None
    grown, compressed = found.files
    more = FILES[1].stat().st_size - stored.ingested_upto
    assert (grown.file, grown.known, grown.bytes) == (FILES[1].name, True, more)
    assert (compressed.bytes, compressed.stored_bytes) == (None, len(packed))
    assert "notes.txt is skipped" in found.notes[0]
    assert bronze.run().counts["bytes"] == more + FILES[2].stat().st_size


def test_a_batch_that_an_earlier_run_left_is_named_and_its_files_are_still_listed(
    bronze: Bronze, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(bronze_job, "carry_out", killed)
        with pytest.raises(KeyboardInterrupt):
            bronze.run()
    found = dry_run(bronze).bronze
    assert found is not None
    assert (found.open_batch, len(found.files)) == (1, 2)
    bronze.run()
    with monkeypatch.context() as patched:
        patched.setattr(silver_job, "carry_out", killed)
        with pytest.raises(KeyboardInterrupt):
            decode(NEVER_STARTED, bronze.settings, QuietProgress())
    again = dry_run(bronze)
    assert again.bronze is not None
    assert again.silver is not None
    assert (again.bronze.open_batch, again.silver.open_batch) == (None, 1)
    assert again.silver.segments == len(bronze.segments())


def test_a_command_shows_its_own_layers(bronze: Bronze) -> None:
    bronze.run()
    shown = {}
    for command in ("ingest", "decode", "apply", "run"):
        document = json.loads(dry_run(bronze, command).to_json())
        layers = ("bronze", "silver", "gold")
        shown[command] = [layer for layer in layers if document[layer] is not None]
    assert shown == {
        "ingest": ["bronze"],
        "decode": ["silver"],
        "apply": ["gold"],
        "run": ["bronze", "silver", "gold"],
    }


def test_wrong_places_are_refused_as_by_the_command(bronze: Bronze, tmp_path: Path) -> None:
    for command, key in (("decode", "lake"), ("run", "binlogs")):
        settings = bronze.settings.updated(binlogs=str(tmp_path / "none"))
        with pytest.raises(SettingsError) as refused:
            run_preview(command, settings, QuietProgress())
        assert refused.value.key == key
    assert not Path(bronze.lake.root).exists()


def test_the_command_prints_layers_files_and_tables_and_what_is_unknown(bronze: Bronze) -> None:
    where = ["--source", "shop", "--binlogs", str(bronze.input), "--lake", bronze.lake.root]
    first = CliRunner().invoke(app, ["run", "--dry-run", *where])
    assert first.exit_code == 0, first.output
    size = f"{FILES[0].stat().st_size:,} bytes"
    assert f"  {bronze.input / FILES[0].name}: {size}\n" in first.stdout
    assert first.stdout.count("unknown until decoded") == 2
    bronze.run()
    decode(NEVER_STARTED, bronze.settings, QuietProgress())
    bronze.put(FILES[2])
    second = CliRunner().invoke(app, ["run", "--dry-run", *where]).stdout
    assert "gold: apply 2,404 changes in silver" in second
    assert "  shop.orders: 469 changes in " in second
    assert "  and what silver decodes: unknown until decoded" in second
    printed = CliRunner().invoke(app, ["apply", "--dry-run", "--json", *where]).stdout
    assert json.loads(printed)["gold"]["tables"]
    refused = CliRunner().invoke(app, ["run", "--dry-run", "--full-refresh", *where])
    assert (refused.exit_code, "no full refresh" in refused.stderr) == (2, True)
    assert CliRunner().invoke(app, ["run", "--dry-run", "-q", *where]).stdout == ""
