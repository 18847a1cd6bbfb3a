"""The examples of docs/guides/python.md, run in order on the recorded shop."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import binlake
from pipeline.cli.app import main

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guides" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def examples(lake: Path, conf: Path) -> list[str]:
    """Return the guide's programs, with this machine's paths."""
    places = {
        "/backup/binlogs": str(ROOT / "demo" / "binlogs"),
        "/data/lake": str(lake),
        "conf/shop.yml": str(conf),
    }
    found = BLOCK.findall(GUIDE.read_text())
    for written, place in places.items():
        assert any(written in block for block in found)
        found = [block.replace(written, place) for block in found]
    if find_spec("polars") is None:
        found = ["\n".join(x for x in b.splitlines() if "polars" not in x) for b in found]
    return found


def test_the_examples_run_and_the_commands_show_the_same(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lake, conf = tmp_path / "lake", tmp_path / "shop.yml"
    conf.write_text(f"source: shop\nlake: {lake}\nbinlogs: {ROOT / 'demo' / 'binlogs'}\n")
    names: dict[str, Any] = {}
    records: list[binlake.RunRecord] = []
    for program in examples(lake, conf):
        exec(program, names)
        if "record = " in program:
            records.append(names["record"])
    output = capsys.readouterr().out

    done, nothing_new = records
    assert (done.outcome, nothing_new.outcome) == ("done", "nothing_new")
    assert f"done {done.rows_applied_by_table}" in output
    assert done.rows_applied_by_table["shop.orders"] > 444
    expected = json.loads((ROOT / "demo" / "expected.json").read_text())
    assert {name: frame.count() for name, frame in names["shop"].items()} == {
        f"shop.{table}": int(rows) for table, (rows, *_) in expected.items()
    }
    assert {*names["earlier"]} == {"shop.orders", "shop.order_items"}
    assert names["orders"].num_rows == 444
    assert names["shop"].committed_at < datetime.now(timezone.utc)
    assert "no published snapshot at or before 2001-01-01" in output

    monkeypatch.setattr(sys, "argv", ["binlake", "runs", "--lake", str(lake), "--json"])
    with pytest.raises(SystemExit):
        main()
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == [json.loads(record.to_json()) for record in (nothing_new, done)]
