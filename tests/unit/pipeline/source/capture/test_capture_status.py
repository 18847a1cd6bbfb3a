"""The capture's part of `binlake status`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import fsspec
import pytest

from pipeline.settings import Settings
from pipeline.settings.capture import CaptureSettings
from pipeline.source.capture.capture_status import CaptureStatus, read_capture_status
from pipeline.source.capture.state import STATE, CaptureState, Gap, Lag, Replica, write_state

GAP = Gap("binlog.000001:4", "binlog.000002", "then", "u:1-5")
STATE_OF = CaptureState(
    Replica.new(), file="binlog.000002", position=77, lag=Lag(1.5, 10_000, 2), gaps=(GAP,)
)


def standing(to: str, *, spool: str | None = None, now: datetime | None = None) -> CaptureStatus:
    capture = CaptureSettings(to=to, spool=spool)
    settings = Settings(source="shop", lake="/lake").model_copy(update={"capture": capture})
    found = read_capture_status(settings, now or datetime.now(timezone.utc))
    assert found is not None
    return found


def test_settings_without_a_capture_have_no_status() -> None:
    assert read_capture_status(Settings(lake="/lake"), datetime.now(timezone.utc)) is None


def test_the_status_reports_the_state_and_its_age(tmp_path: Path) -> None:
    written = write_state(tmp_path, STATE_OF)
    later = datetime.fromisoformat(written.updated) + timedelta(seconds=90)
    found = standing(str(tmp_path), now=later)
    assert found == CaptureStatus(
        source="shop",
        to=str(tmp_path),
        file="binlog.000002",
        position=77,
        lag=Lag(1.5, 10_000, 2),
        updated=written.updated,
        age_seconds=90.0,
        gaps=(GAP,),
    )
    place, gap = found.lines()
    assert place == (
        f"Capture of shop into {tmp_path}: durable up to binlog.000002:77, 2 s, 10,000 bytes,"
        f" 2 transactions behind the server (updated {written.updated}, 90 s ago)."
    )
    assert gap == (
        f"Capture of shop into {tmp_path} has a gap: everything between binlog.000001:4 and"
        " binlog.000002: u:1-5 (noticed then)."
    )
    assert json.loads(json.dumps(asdict(found)))["lag"] == {
        "seconds": 1.5,
        "bytes": 10_000,
        "transactions": 2,
    }


def test_a_later_turn_and_an_unknown_lag_are_reported(tmp_path: Path) -> None:
    write_state(tmp_path, replace(STATE_OF, turn=3, lag=None, gaps=()))
    (line,) = standing(str(tmp_path)).lines()
    assert "binlog.000002:77 in turn-0003, the server's log end is unknown (updated" in line


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "nothing captured yet"),
        ("", "is not a capture's state"),
        ("[1]", "is not a capture's state"),
        ('{"version": 2}', "its version is 2"),
        (STATE_OF.to_json(), "not a capture's state: Invalid isoformat"),
        (replace(STATE_OF, updated="2026-11-22").to_json(), "not a capture's state"),
    ],
    ids=["none", "empty", "a list", "of a later release", "never updated", "without a zone"],
)
def test_an_unreadable_state_is_reported(
    content: str | None, expected: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / STATE).write_text(content)
    found = standing(str(tmp_path))
    assert expected in str(found.problem)
    assert list(found.lines()) == [f"Capture of shop into {tmp_path}: {found.problem}"]


def test_a_state_without_read_permission_is_reported(tmp_path: Path) -> None:
    (tmp_path / STATE).mkdir()
    assert standing(str(tmp_path)).problem == "its state cannot be read: Is a directory."


def test_the_spools_state_is_preferred_to_the_stores(tmp_path: Path) -> None:
    store = f"memory://{tmp_path}"
    published = replace(STATE_OF, position=4, updated="2026-11-22T10:00:00.000+00:00")
    fsspec.filesystem("memory").pipe_file(f"{tmp_path}/{STATE}", published.to_json().encode())
    spool = tmp_path / "spool"
    elsewhere = standing(store, spool=str(spool))
    assert (elsewhere.position, elsewhere.updated) == (4, published.updated)
    spool.mkdir()
    write_state(spool, STATE_OF)
    assert standing(f"{store}/", spool=str(spool)).position == 77


@pytest.mark.parametrize(
    ("to", "expected"),
    [("nowhere://x/y", "nowhere"), ("memory://empty", "nothing captured yet")],
)
def test_an_unreachable_store_is_reported(to: str, expected: str) -> None:
    assert expected in str(standing(to).problem)


def test_a_stores_error_is_reported_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise RuntimeError("no credentials for mysql://me:s3cret@db")

    monkeypatch.setattr("pipeline.lake.stores.content", refuse)
    problem = str(standing("memory://x").problem)
    assert "no credentials" in problem
    assert "s3cret" not in problem
