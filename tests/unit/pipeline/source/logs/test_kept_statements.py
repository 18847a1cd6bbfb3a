"""Table definitions kept by captures and seeds, and which of them the lake copies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.lake import Lake
from pipeline.source.logs.kept_statements import READINGS_FILE, copy_captured_readings, keep, kept
from pipeline.source.server.create_statements import CreateStatements, TableStatement
from pipeline.source.server.log_position import LogPosition
from tests.support.observe.captured_log import captured_log


def reading(
    at: int, *tables: tuple[str, str], last: int | None = None, server: int = 1
) -> CreateStatements:
    first, last_place = (LogPosition("binlog.000001", place) for place in (at, last or at))
    statements = tuple(TableStatement("shop", name, query) for name, query in tables)
    return CreateStatements("9.7.0", server, at, first, last_place, statements)


def put(folder: Path, *readings: CreateStatements) -> None:
    folder.mkdir(exist_ok=True)
    (folder / READINGS_FILE).write_text(json.dumps([one.to_dict() for one in readings]))


@pytest.mark.parametrize(
    "binlogs",
    [
        "{0}/logs",
        "{0}/logs/",
        "{0}/logs/binlog.*",
        "{0}/l*s/binlog.*",
        "{0}/logs/binlog.000001",
        "{0}/logs/turn-0002",
        ("{0}/other", "{0}/logs"),
    ],
)
def test_readings_kept_beside_landed_logs_are_copied_into_the_lake(
    tmp_path: Path, binlogs: str | tuple[str, ...]
) -> None:
    put(tmp_path / "logs", reading(100, ("item", "CREATE 1")))
    (tmp_path / "logs" / "binlog.000001").write_bytes(b"log")
    if binlogs == "{0}/l*s/binlog.*":
        put(tmp_path, reading(100, ("item", "CREATE 1")))
    lake = Lake(str(tmp_path / "lake"))
    given: Any = (
        binlogs.format(tmp_path)
        if isinstance(binlogs, str)
        else [one.format(tmp_path) for one in binlogs]
    )
    for _ in range(2):
        assert copy_captured_readings(lake, "shop", given, 0) == []
        assert kept(lake, "shop") == [reading(100, ("item", "CREATE 1"))]


def test_folders_without_a_captures_file_are_ignored(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    assert copy_captured_readings(lake, "shop", str(tmp_path / "logs"), 0) == []
    assert kept(lake, "shop") == []


def test_only_new_statements_are_kept_unless_the_lakes_log_begins_later(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    keep(lake, "shop", [reading(100, ("item", "CREATE 1"), ("visit", "CREATE 2"))], 0)
    keep(lake, "shop", [reading(200, ("item", "CREATE 1"), ("visit", "CREATE 3"))], 0)
    keep(lake, "shop", [reading(300, ("item", "CREATE 1"))], 0)
    assert kept(lake, "shop") == [
        reading(100, ("item", "CREATE 1"), ("visit", "CREATE 2")),
        reading(200, ("visit", "CREATE 3")),
    ]
    keep(lake, "shop", [reading(300, ("item", "CREATE 1"), ("visit", "CREATE 3"))], 150)
    assert kept(lake, "shop")[2:] == [reading(300, ("item", "CREATE 1"))]
    assert kept(lake, "other") == []


def test_a_reading_between_two_positions_needs_a_later_one_to_confirm_it(
    tmp_path: Path,
) -> None:
    lake, item = Lake(str(tmp_path)), ("item", "CREATE 1")
    for one in (reading(100, item, last=150), reading(200, item, last=250), reading(300, item)):
        keep(lake, "shop", [one], 0)
    assert [one.at for one in kept(lake, "shop")] == [100, 200]


def test_positions_are_in_the_order_of_the_logs_numbers(tmp_path: Path) -> None:
    """Not in that of their names: as text, binlog.1000000 is less than binlog.999999."""
    lake, item = Lake(str(tmp_path)), ("item", "CREATE 1")
    first, last = LogPosition("binlog.999999", 4), LogPosition("binlog.1000000", 4)
    between = [replace(reading(at, item), first=first, last=last) for at in (100, 200)]
    for one in (*between, reading(300, item)):
        keep(lake, "shop", [one], 0)
    assert [one.at for one in kept(lake, "shop")] == [100, 200, 300]


def test_a_reading_of_another_server_does_not_confirm_a_statement(tmp_path: Path) -> None:
    lake, item = Lake(str(tmp_path)), ("item", "CREATE 1")
    for one in (reading(100, item, server=2), reading(200, item), reading(300, item)):
        keep(lake, "shop", [one], 0)
    assert [one.at for one in kept(lake, "shop")] == [100, 200]


def test_an_earlier_reading_that_arrives_later_is_kept(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    keep(lake, "shop", [reading(200, ("item", "CREATE 1"))], 0)
    # such as a capture's, if a seed was read before the first run
    keep(lake, "shop", [reading(300, ("item", "CREATE 1")), reading(100, ("item", "CREATE 1"))], 0)
    assert [one.at for one in kept(lake, "shop")] == [100, 200]


@pytest.mark.parametrize("content", ["", "{}", '[{"format": 1}]', '[{"format": 2}]', "nonsense"])
def test_a_damaged_file_of_a_capture_is_a_note(tmp_path: Path, content: str) -> None:
    (tmp_path / READINGS_FILE).write_text(content)
    lake = Lake(str(tmp_path / "lake"))
    problems = copy_captured_readings(lake, "shop", str(tmp_path), 0)
    assert [READINGS_FILE in problem for problem in problems] == [True] * (content != "{}")
    assert kept(lake, "shop") == []


def test_a_position_without_a_logs_name_is_a_note(tmp_path: Path) -> None:
    put(tmp_path, replace(reading(100, ("item", "CREATE 1")), last=LogPosition("binlog", 4)))
    lake = Lake(str(tmp_path / "lake"))
    (problem,) = copy_captured_readings(lake, "shop", str(tmp_path), 0)
    assert "'binlog' is not a binary log name" in problem
    assert kept(lake, "shop") == []


def test_a_damaged_file_in_the_lake_is_logged_and_skipped(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    keep(lake, "shop", [reading(100, ("item", "CREATE 1"))], 0)
    (file,) = Path(lake.create_statements("shop")).iterdir()
    file.write_text("{}")
    with captured_log() as log:
        keep(lake, "shop", [reading(200, ("item", "CREATE 1"))], 0)
        assert [one.at for one in kept(lake, "shop")] == [200]
    assert file.name in log.of("statements_unreadable")[0]["message"]
