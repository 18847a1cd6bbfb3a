"""Folders of successive servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.source import find_binlogs
from pipeline.source.logs.server_folders import FIRST_TURN, turn_folder, turn_of
from tests.support.decoder.event_bytes import recorded


@pytest.mark.parametrize("turn", [2, 17, 12345])
@pytest.mark.parametrize("root", ["/logs", "s3://bucket/logs", "logs", ""])
def test_the_turn_of_a_file_is_read_from_its_folder(turn: int, root: str) -> None:
    assert turn_of(f"{root}/{turn_folder(turn)}/binlog.000001") == turn
    assert turn_of(f"{root}/{turn_folder(turn)}/archive/binlog.000001") == FIRST_TURN


@pytest.mark.parametrize(
    "path", ["binlog.000001", "/logs/binlog.000001", "/logs/turn-2/x", "/turn-0002x/x", "turn-0002"]
)
def test_files_in_other_folders_belong_to_the_first_turn(path: str) -> None:
    assert turn_of(path) == FIRST_TURN


def test_the_same_file_has_another_incarnation_in_another_turn(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / turn_folder(2), tmp_path / "copy"):
        folder.mkdir(exist_ok=True)
        (folder / "binlog.000001").write_bytes(recorded("plain"))
    found = {b.stored.path: b.head.incarnation for b in find_binlogs(str(tmp_path)).binlogs}
    own = found[f"{tmp_path}/binlog.000001"]
    assert found[f"{tmp_path}/copy/binlog.000001"] == own
    assert found[f"{tmp_path}/turn-0002/binlog.000001"] not in (own, "")
