from __future__ import annotations

import os
from pathlib import Path

import pytest

from decoder.constants import EventFlag
from decoder.segments.log_windows import FLAGS_POSITION
from pipeline.source.capture.errors import AnotherLogError, BrokenDumpError, DamagedFolderError
from pipeline.source.capture.landed_folder import LandedFile, LandedFolder, recover
from pipeline.source.server.log_position import LogPosition
from tests.support.decoder.event_bytes import recorded

LOG = recorded("plain")
NO_CHECKSUM = recorded("no_checksum")


def ends_of(log: bytes) -> list[int]:
    ends, at = [], 4
    while at < len(log):
        at += int.from_bytes(log[at + 9 : at + 13], "little")
        ends.append(at)
    return ends


def in_use(log: bytes) -> bytes:
    flagged = bytearray(log)
    flagged[FLAGS_POSITION] |= EventFlag.BINLOG_IN_USE
    return bytes(flagged)


@pytest.mark.parametrize("torn", [1, 18, 19, 30])
def test_a_torn_event_is_truncated(torn: int, tmp_path: Path) -> None:
    ends = ends_of(LOG)
    file = tmp_path / "binlog.000001"
    file.write_bytes(LOG[: ends[-3] + torn])
    found = recover(file, ends[2])
    assert found is not None
    assert (found.end.position, found.last_event, found.ended) == (ends[-3], ends[-4], False)
    assert file.read_bytes() == LOG[: ends[-3]]


def test_an_event_that_did_not_reach_the_disk_is_truncated(tmp_path: Path) -> None:
    ends = ends_of(LOG)
    file = tmp_path / "binlog.000001"
    file.write_bytes(LOG[: ends[-3] - 8] + bytes(8))
    found = recover(file, ends[2])
    assert found is not None
    assert found.end.position == ends[-4]


def test_without_checksums_only_durable_bytes_are_kept(tmp_path: Path) -> None:
    ends = ends_of(NO_CHECKSUM)
    file = tmp_path / "binlog.000001"
    file.write_bytes(in_use(NO_CHECKSUM))
    found = recover(file, ends[3])
    assert found is not None
    assert found.end.position == ends[3]
    assert file.stat().st_size == ends[3]


def test_a_complete_file_is_recognized_as_ended(tmp_path: Path) -> None:
    file = tmp_path / "binlog.000001"
    file.write_bytes(LOG)
    found = recover(file, None)
    assert found is not None
    assert (found.end.position, found.ended) == (len(LOG), True)


@pytest.mark.parametrize("content", [b"", b"\xfebin", LOG[:15], in_use(LOG)[:22], in_use(LOG)[:50]])
def test_a_just_created_file_counts_as_empty(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "binlog.000001").write_bytes(LOG)
    (tmp_path / "binlog.000002").write_bytes(content)
    found = LandedFolder(tmp_path).recover(None)
    assert found is not None
    assert found.end == LogPosition("binlog.000001", len(LOG))
    assert [path.name for path in tmp_path.iterdir()] == ["binlog.000001"]


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        b"the backup of January",
        b"\xfdbin" + bytes(600),
        LOG[:50],
        LOG[:4] + bytes(100),
        in_use(LOG)[:60] + b"?" + in_use(LOG)[61:],
    ],
    ids=["text", "encrypted", "closed", "no description", "damaged description"],
)
def test_a_file_not_written_by_a_capture_is_never_changed(
    content: bytes, own: bool, tmp_path: Path
) -> None:
    (tmp_path / "binlog.000004").write_bytes(LOG)
    file = tmp_path / "backup.20240131"
    file.write_bytes(content)
    with pytest.raises(DamagedFolderError, match="not written by a capture"):
        LandedFolder(tmp_path).recover(None, own=own)
    assert file.read_bytes() == content
    assert (tmp_path / "binlog.000004").read_bytes() == LOG


@pytest.mark.parametrize("content", [b"", b"\xfebin", in_use(LOG)[:50], in_use(LOG)[:-1]])
def test_nothing_is_truncated_in_a_folder_without_a_capture(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "binlog.000004"
    file.write_bytes(content)
    with pytest.raises(DamagedFolderError):
        LandedFolder(tmp_path).recover(None, own=False)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "durable", "end"),
    [
        (in_use(NO_CHECKSUM), LogPosition("binlog.000001", len(LOG)), 0),
        (in_use(NO_CHECKSUM), None, 0),
        (NO_CHECKSUM, LogPosition("binlog.000001", len(LOG)), len(NO_CHECKSUM)),
        (in_use(LOG), LogPosition("binlog.000001", len(LOG)), len(LOG)),
    ],
    ids=["growing", "no checkpoint at all", "closed", "with checksums"],
)
def test_no_byte_of_a_file_after_the_states_is_known_to_be_durable(
    content: bytes, durable: LogPosition | None, end: int, tmp_path: Path
) -> None:
    (tmp_path / "binlog.000001").write_bytes(LOG)
    (tmp_path / "binlog.000002").write_bytes(content)
    found = LandedFolder(tmp_path).recover(durable)
    assert found is not None
    expected = LogPosition("binlog.000002", end) if end else LogPosition("binlog.000001", len(LOG))
    assert found.end == expected
    assert (tmp_path / "binlog.000002").exists() is bool(end)


def test_damaged_durable_bytes_are_never_truncated(tmp_path: Path) -> None:
    file = tmp_path / "binlog.000001"
    damaged = LOG[:300] + b"?" + LOG[301:]
    file.write_bytes(damaged)
    with pytest.raises(
        DamagedFolderError, match=r"landed bytes are valid: .*checksum.* Move this file"
    ):
        recover(file, len(LOG))
    assert file.read_bytes() == damaged


def test_bytes_sent_again_are_compared_and_only_new_ones_written(tmp_path: Path) -> None:
    ends = ends_of(LOG)
    path = tmp_path / "binlog.000001"
    file = LandedFile(path, 0)
    assert file.land(memoryview(in_use(LOG)[: ends[2]]), 0, whole=ends[2], ended=False) == ends[2]
    again = memoryview(LOG[ends[1] : ends[4]])
    assert file.land(again, ends[1], whole=ends[4], ended=False) == ends[4] - ends[2]
    # The start matches too, although the in-use flag differs.
    assert file.land(memoryview(LOG[: ends[1]]), 0, whole=ends[1], ended=False) == 0
    assert file.whole == ends[4]
    with pytest.raises(AnotherLogError, match="other bytes than were landed"):
        file.land(memoryview(b"?" * 10), ends[3], whole=ends[4], ended=False)
    file.close()
    assert path.read_bytes() == in_use(LOG)[: ends[4]]


def test_leaving_a_file_truncates_it_after_the_last_whole_event(tmp_path: Path) -> None:
    ends = ends_of(LOG)
    path = tmp_path / "binlog.000001"
    file = LandedFile(path, 0)
    file.land(memoryview(LOG[: ends[2]]), 0, whole=ends[2], ended=False)
    file.land(memoryview(LOG[ends[2] : ends[3] - 1]), ends[2], whole=None, ended=False)
    file.close()
    assert path.read_bytes() == LOG[: ends[2]]


def test_the_in_use_flag_is_cleared_at_the_files_end(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    file = LandedFile(path, 0)
    file.land(memoryview(in_use(LOG)), 0, whole=len(LOG), ended=True)
    assert path.read_bytes() == in_use(LOG)
    file.make_durable()
    assert path.read_bytes() == LOG
    file.close()


def test_a_partial_write_is_continued(tmp_path: Path) -> None:
    taken = bytearray(len(LOG))

    def write(_: int, data: memoryview, position: int) -> int:
        part = data[:1000]
        taken[position : position + len(part)] = part
        return len(part)

    file = LandedFile(tmp_path / "binlog.000001", 0, write=write)
    assert file.land(memoryview(LOG), 0, whole=len(LOG), ended=True) == len(LOG)
    assert bytes(taken) == LOG


def test_files_must_follow_in_the_servers_order(tmp_path: Path) -> None:
    folder = LandedFolder(tmp_path)
    folder.begin("binlog.000008", 4)
    folder.land(memoryview(LOG), 0, whole=len(LOG), ended=True)
    with pytest.raises(AnotherLogError, match=r"after binlog\.000008 the server continues with"):
        folder.begin("binlog.000010", 4)
    folder.begin("binlog.000009", 4)
    assert folder.end == LogPosition("binlog.000009", 0)


def test_readers_never_see_an_empty_log(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def write(descriptor: int, data: memoryview, position: int) -> int:
        seen.append(visible(tmp_path))
        return os.pwrite(descriptor, data, position)

    folder = LandedFolder(tmp_path, write=write)
    folder.begin("binlog.000001", 4)
    assert visible(tmp_path) == []
    folder.land(memoryview(LOG), 0, whole=len(LOG), ended=True)
    folder.begin("binlog.000002", 4)
    folder.leave()
    assert seen == [[]]
    assert [path.name for path in tmp_path.iterdir()] == ["binlog.000001"]
    assert (tmp_path / "binlog.000001").read_bytes() == LOG


def visible(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if not path.name.startswith(".")]


@pytest.mark.parametrize(
    ("file", "position"), [("../binlog.000001", 4), (".hidden.000001", 4), ("binlog.000001", 900)]
)
def test_an_invalid_file_name_or_position_is_refused(
    file: str, position: int, tmp_path: Path
) -> None:
    with pytest.raises(BrokenDumpError):
        LandedFolder(tmp_path).begin(file, position)
    assert not list(tmp_path.iterdir())
