"""A spool and its store: which of them a capture resumes from, and what is uploaded."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest

from decoder.constants import EventType
from pipeline.settings.capture import PublishSettings
from pipeline.source import GtidSet
from pipeline.source.capture.errors import AnotherLogError
from pipeline.source.capture.failover import landed_gtids
from pipeline.source.capture.landed_folder import LandedFolder
from pipeline.source.capture.object_store import Published
from pipeline.source.capture.state import STATE, CaptureState, Replica, read_state, write_state
from pipeline.source.logs.kept_statements import READINGS_FILE
from tests.support.decoder.event_bytes import (
    MAGIC,
    MARIADB_POST_HEADER_LENGTHS,
    event_bytes,
    format_description,
    recorded,
)

ONE = CaptureState(
    Replica.new(), server_uuid="one", first_file="binlog.000001", file="binlog.000001", position=300
)


def store_of(folder: Path, logs: dict[str, bytes], state: CaptureState | None) -> Published:
    files = fsspec.filesystem("memory")
    for name, content in logs.items():
        files.pipe_file(f"{folder}/{name}", content)
    if state is not None:
        files.pipe_file(f"{folder}/{STATE}", state.to_json().encode())
    return Published(f"memory://{folder}", PublishSettings())


def spool_of(folder: Path, state: CaptureState | None = ONE) -> dict[str, bytes]:
    logs = {"binlog.000001": b"one", "binlog.000002": b"two"}
    for name, content in logs.items():
        (folder / name).write_bytes(content)
    if state is not None:
        write_state(folder, state)
    return logs


def visible(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


@pytest.mark.parametrize(
    ("stored", "own", "last", "message"),
    [
        (None, ONE, "binlog.000009", "contains logs but no capture's state"),
        (replace(ONE, server_uuid="two"), ONE, "binlog.000009", "of server two"),
        (replace(ONE, replica=Replica.new()), ONE, "binlog.000009", "another capture"),
        (ONE, None, "mysql-bin.000009", "contains mysql-bin.000009"),
    ],
    ids=["no state", "another server", "another capture", "another log"],
)
def test_a_store_of_another_capture_leaves_the_spool_unchanged(
    stored: CaptureState | None, own: CaptureState | None, last: str, message: str, tmp_path: Path
) -> None:
    logs = spool_of(tmp_path, own)
    published = store_of(tmp_path, {last: b"something else"}, stored)
    with pytest.raises(AnotherLogError, match=message):
        published.restore(tmp_path)
    assert visible(tmp_path) == logs
    assert own is None or read_state(tmp_path) is not None


def test_a_capture_resumes_from_a_store_that_has_more(tmp_path: Path) -> None:
    spool_of(tmp_path)
    store_of(tmp_path, {"binlog.000003": b"three"}, ONE).restore(tmp_path)
    assert visible(tmp_path) == {"binlog.000003": b"three"}
    state = read_state(tmp_path)
    assert state is not None
    # Uploads end with a whole event: no byte is taken for an incomplete write.
    assert (state.file, state.position) == ("binlog.000003", 5)


def test_the_state_is_in_the_store_before_the_first_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[str] = []
    monkeypatch.setattr(Published, "_put", lambda self, file, name, size=None: put.append(name))
    spool_of(tmp_path)
    published = store_of(tmp_path, {}, None)
    published.publish(tmp_path, ONE, final=True)
    assert put[:2] == [STATE, "binlog.000001"]


def test_a_file_that_the_state_does_not_know_yet_is_not_uploaded_up_to_anothers_position(
    tmp_path: Path,
) -> None:
    """A capture was killed after a rotation; the next one ended before anything was sent."""
    for name in ("binlog.000001", "binlog.000002"):
        (tmp_path / name).write_bytes(recorded("plain"))
    write_state(tmp_path, ONE)
    store_of(tmp_path, {}, None).publish(tmp_path, ONE, final=True)
    stored = {path.rpartition("/")[2] for path in fsspec.filesystem("memory").find(str(tmp_path))}
    assert stored == {STATE, "binlog.000001"}


SECOND = replace(ONE, server_uuid="two", turn=2, first_file="binlog.000007")
TURN = "turn-0002"


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by relative path, without hidden ones."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_after_a_failover_files_are_uploaded_into_the_turns_folder(tmp_path: Path) -> None:
    log = recorded("plain")
    spool_of(tmp_path, replace(SECOND, file="binlog.000008", position=len(log) - 31))
    (tmp_path / TURN).mkdir()
    for name, content in {"binlog.000007": b"seven", "binlog.000008": log}.items():
        (tmp_path / TURN / name).write_bytes(content)
    published = store_of(tmp_path, {}, None)
    state = read_state(tmp_path)
    assert state is not None
    published.publish(tmp_path, state, final=True)
    files = fsspec.filesystem("memory")
    stored = {path.removeprefix(f"{tmp_path}/") for path in files.find(str(tmp_path))}
    assert stored == {STATE, f"{TURN}/binlog.000007", f"{TURN}/binlog.000008"}
    assert files.cat_file(f"{tmp_path}/{TURN}/binlog.000008") == log[:-31]
    assert f"{TURN}/binlog.000007" not in files_of(tmp_path)


def test_a_closed_file_stays_in_the_spool_until_the_next_has_previous_gtids(
    tmp_path: Path,
) -> None:
    """After a failover, the landed GTIDs are read from it."""
    log = format_description("10.11.8-MariaDB", lengths=MARIADB_POST_HEADER_LENGTHS)
    gtids = struct.pack("<I", 1) + struct.pack("<IIQ", 0, 1, 5)
    listed = MAGIC + log + event_bytes(EventType.MARIADB_GTID_LIST, gtids)
    logs = {"binlog.000001": listed, "binlog.000002": MAGIC + log}
    published = store_of(tmp_path, {}, None)
    for last, kept in [(MAGIC + log, set(logs)), (listed, {"binlog.000002"})]:
        for name, content in {**logs, "binlog.000002": last}.items():
            (tmp_path / name).write_bytes(content)
        state = replace(ONE, file="binlog.000002", position=len(last))
        write_state(tmp_path, state)
        published.publish(tmp_path, state, final=True)
        assert set(visible(tmp_path)) == kept
        assert landed_gtids(LandedFolder(tmp_path), state) == GtidSet.of("0-1-5")


@pytest.mark.parametrize("own", [None, ONE], ids=["spool lost", "spool of the previous turn"])
def test_a_store_after_a_failover_is_resumed_in_its_turn(
    own: CaptureState | None, tmp_path: Path
) -> None:
    if own is not None:
        spool_of(tmp_path, own)
    logs = {"binlog.000009": b"of the first", f"{TURN}/binlog.000007": b"seven"}
    store_of(tmp_path, logs, SECOND).restore(tmp_path)
    state = read_state(tmp_path)
    assert state is not None
    assert (state.turn, state.file, state.position) == (2, "binlog.000007", 5)
    assert files_of(tmp_path)[f"{TURN}/binlog.000007"] == b"seven"


def test_a_store_right_after_a_failover_has_no_files_of_the_turn_yet(tmp_path: Path) -> None:
    store_of(tmp_path, {"binlog.000009": b"of the first"}, SECOND).restore(tmp_path)
    state = read_state(tmp_path)
    assert state is not None
    assert (state.turn, state.first_file, state.durable) == (2, "binlog.000007", None)
    assert files_of(tmp_path) == {}


def test_a_spool_right_after_a_failover_is_ahead_of_the_store(tmp_path: Path) -> None:
    write_state(tmp_path, SECOND)
    store_of(tmp_path, {"binlog.000009": b"of the first"}, ONE).restore(tmp_path)
    assert read_state(tmp_path) is not None
    assert files_of(tmp_path) == {}
    other = store_of(tmp_path, {}, replace(ONE, replica=Replica.new()))
    with pytest.raises(AnotherLogError, match="another capture"):
        other.restore(tmp_path)


def test_changed_table_definitions_are_uploaded_and_restored(tmp_path: Path) -> None:
    spool, other = tmp_path / "spool", tmp_path / "other"
    spool.mkdir()
    other.mkdir()
    spool_of(spool)
    store = f"{tmp_path}/definitions"
    published = store_of(Path(store), {}, None)
    state = replace(ONE, file="binlog.000002", position=3)
    (spool / READINGS_FILE).write_text("[1]")
    published.publish(spool, state, final=True)
    files = fsspec.filesystem("memory")
    assert files.cat_file(f"{store}/{READINGS_FILE}") == b"[1]"

    Published(f"memory://{store}", PublishSettings()).restore(other)
    assert (other / READINGS_FILE).read_text() == "[1]"
    # the spool's own file is newer
    (other / READINGS_FILE).write_text("[1, 2]")
    Published(f"memory://{store}", PublishSettings()).restore(other)
    assert (other / READINGS_FILE).read_text() == "[1, 2]"
