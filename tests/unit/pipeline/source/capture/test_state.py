from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR

import pytest

from pipeline.errors import SettingsError
from pipeline.source.capture.backoff import FIRST_SECONDS, Backoff
from pipeline.source.capture.checkpoints import bytes_after
from pipeline.source.capture.errors import DamagedStateError
from pipeline.source.capture.source import LogEnd, LogFile
from pipeline.source.capture.state import (
    STATE,
    CaptureState,
    Gap,
    Lag,
    Replica,
    Turn,
    read_state,
    write_state,
)
from pipeline.source.logs.storage import list_files
from pipeline.source.server.log_position import LogPosition

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def test_a_state_is_read_as_written(tmp_path: Path) -> None:
    state = CaptureState(
        Replica.new(),
        server_uuid=UUID,
        file="binlog.000002",
        position=77,
        lag=Lag(1.5, 10, 2),
        gaps=(Gap("binlog.000001:4", "binlog.000002", "then", "u:1-5"),),
        turn=2,
        before=(Turn(1, UUID, 7, "9.7.4", "binlog.000001", "binlog.000005", 9, "u:1-8", "then"),),
        lacking="u:8",
    )
    written = write_state(tmp_path, state)
    assert read_state(tmp_path) == written
    assert written.updated
    assert written.durable == LogPosition("binlog.000002", 77)
    assert [path.name for path in tmp_path.iterdir()] == [STATE]


def test_a_state_that_lacks_fields_is_damaged(tmp_path: Path) -> None:
    state = json.loads(CaptureState(Replica.new(), file="binlog.000002", position=77).to_json())
    (tmp_path / STATE).write_text(
        json.dumps({k: v for k, v in state.items() if k not in ("turn", "before")})
    )
    with pytest.raises(DamagedStateError, match="it lacks before, turn"):
        read_state(tmp_path)


def test_the_first_turn_has_no_folder_of_its_own() -> None:
    state = CaptureState(Replica.new())
    assert (state.turn, state.folder) == (1, "")
    assert replace(state, turn=12).folder == "turn-0012"


def test_an_empty_folder_has_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    assert CaptureState(Replica.new()).durable is None


def test_bronze_ignores_the_state_file(tmp_path: Path) -> None:
    write_state(tmp_path, CaptureState(Replica.new()))
    with pytest.raises(SettingsError, match="no files"):
        list_files(str(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 99}', "no json"])
def test_a_damaged_state_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / STATE).write_text(text)
    with pytest.raises(DamagedStateError, match="not a capture's state"):
        read_state(tmp_path)


def test_each_replica_has_a_high_server_id() -> None:
    ids = {Replica.new().server_id for _ in range(200)}
    assert len(ids) > 190
    assert all(1 << 31 <= number < 1 << 32 for number in ids)


def test_waits_grow_up_to_the_limit_and_are_reset_by_progress() -> None:
    backoff = Backoff(2.0, chance=lambda: 1.0)
    assert [backoff.next() for _ in range(6)] == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    backoff.progress()
    assert backoff.next() == FIRST_SECONDS
    assert Backoff(60, tries=5000, chance=lambda: 0.0).next() == 30


@pytest.mark.parametrize(
    ("file", "position", "expected"),
    [
        ("b.000001", 40, 60 + 50 + 25),
        ("b.000003", 20, 5),
        ("b.000003", 25, 0),
        ("b.000000", 9, 175),
    ],
)
def test_bytes_after_a_position(file: str, position: int, expected: int) -> None:
    logs = [LogFile("b.000001", 100), LogFile("b.000002", 50), LogFile("b.000003", 25)]
    assert bytes_after(logs, LogPosition(file, position)) == expected


@pytest.mark.parametrize(
    ("gtids", "gtid", "expected"),
    [
        (f"{UUID}:1-10", f"{UUID}:7", 3),
        (f"{UUID}:1-10:20-25", f"{UUID}:7", 9),
        (f"{UUID}:1-10:tag:1-4", f"{UUID}:tag:1", 3),
        (f"{UUID}:1-10", f"{UUID}:10", 0),
        (f"{UUID}:1-10", "00000000-71ca-11e1-9e33-c80aa9429562:7", 0),
        ("0-1-10,0-2-12,1-1-99", "0-1-10", 2),
        ("", f"{UUID}:7", None),
        (f"{UUID}:1-10", None, None),
    ],
)
def test_transactions_after_a_gtid(gtids: str, gtid: str | None, expected: int | None) -> None:
    assert LogEnd(LogPosition("b.000001", 4), gtids).transactions_after(gtid) == expected


def test_writing_the_state_syncs_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(S_ISDIR(os.fstat(file).st_mode)))
    write_state(tmp_path, CaptureState(Replica.new()))
    assert synced == [False, True]
