"""Finding the binary logs among the input, and faults and notes about other files."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import pytest

from pipeline.errors import SettingsError
from pipeline.source import find_binlogs
from pipeline.source.logs import listing
from pipeline.source.logs.archive import ArchivedFile
from pipeline.source.logs.listing import split_name
from pipeline.source.logs.storage import opened
from tests.support.decoder.archives import pack
from tests.support.decoder.event_bytes import format_description, log_bytes

LOG = log_bytes(description=format_description("5.6.51", algorithm=1))
OPEN = log_bytes(description=format_description("9.7.0", algorithm=1, in_use=True))


def put(folder: Path, **files: bytes) -> str:
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_bytes(content)
    return str(folder)


def names(location: str) -> list[str]:
    return [binlog.stored.name for binlog in find_binlogs(location).binlogs]


def test_logs_in_a_folder_are_found_by_magic_number(tmp_path: Path) -> None:
    location = put(tmp_path, log_000002=LOG, log_000001=LOG, log_index=b"./log.000001\n", x_tmp=b"")
    (tmp_path / "sub").mkdir()
    found = find_binlogs(location)
    assert [binlog.stored.name for binlog in found.binlogs] == ["log.000001", "log.000002"]
    assert found.faults == ()
    assert sorted(note.split("/")[-1].split(" ")[0] for note in found.notes) == [
        "log.index",
        "x.tmp",
    ]


def test_a_log_that_mariadb_keeps_in_innodb_is_a_fault(tmp_path: Path) -> None:
    location = put(tmp_path, log_000001=LOG)
    (tmp_path / "binlog-000000.ibb").write_bytes(bytes(16384))
    (fault,) = find_binlogs(location).faults
    assert "binlog-000000.ibb" in fault
    assert "InnoDB pages" in fault
    assert "without binlog_storage_engine" in fault


def test_logs_are_ordered_by_number_not_by_name(tmp_path: Path) -> None:
    location = put(tmp_path, log_999999=LOG, log_1000000=LOG, log_000010=LOG)
    assert names(location) == ["log.000010", "log.999999", "log.1000000"]


def test_a_location_may_be_a_file_a_glob_or_a_url(tmp_path: Path) -> None:
    put(tmp_path, log_000001=LOG, log_000002=LOG, relay_000001=LOG)
    assert names(str(tmp_path / "log.000002")) == ["log.000002"]
    assert names(str(tmp_path / "log.*")) == ["log.000001", "log.000002"]
    assert names(f"file://{tmp_path}/log.*") == ["log.000001", "log.000002"]
    paths = {b.stored.path for b in find_binlogs((tmp_path / "log.000001").as_uri()).binlogs}
    assert paths == {str(tmp_path / "log.000001")}


def test_a_store_of_another_protocol_is_read_through_fsspec() -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe("/logs/log.000001", LOG)
    try:
        (binlog,) = find_binlogs("memory://logs").binlogs
        assert binlog.stored.path == "memory:///logs/log.000001"
        assert binlog.stored.size == len(LOG)
    finally:
        store.rm("/logs", recursive=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"PK\3\4 and more", "the file starts with 50 4b 03 04"),
        (b"\xfdbin" + bytes(600), "the file is encrypted with header version 0"),
        (LOG[:60], "the file ends inside this event"),
        (LOG[:30] + b"?" + LOG[31:], "the checksum does not match"),
    ],
)
def test_another_file_named_like_a_log_is_a_fault(
    tmp_path: Path, content: bytes, message: str
) -> None:
    found = find_binlogs(put(tmp_path, log_000001=LOG, log_000002=content))
    assert [binlog.stored.name for binlog in found.binlogs] == ["log.000001"]
    (fault,) = found.faults
    assert fault.startswith("log.000002, position ")
    assert message in fault
    alone = find_binlogs(str(tmp_path / "log.000002"))
    assert len(alone.faults) == 1


def put_one(folder: Path, content: bytes) -> str:
    (folder / "dump.sql").write_bytes(content)
    return str(folder / "dump.sql")


def test_a_file_given_by_name_must_be_a_log(tmp_path: Path) -> None:
    assert "starts with 2d 2d" in find_binlogs(put_one(tmp_path, b"-- MySQL dump")).faults[0]
    (binlog,) = find_binlogs(put_one(tmp_path, LOG)).binlogs
    assert (binlog.base, binlog.number) == ("dump.sql", 1)


def test_a_log_that_the_server_has_just_created_is_not_a_fault(tmp_path: Path) -> None:
    found = find_binlogs(put(tmp_path, log_000001=LOG, log_000002=OPEN))
    assert [binlog.stored.name for binlog in found.binlogs] == ["log.000001"]
    assert found.faults == ()
    assert "the server has just created it" in found.notes[0]


def test_an_unreadable_file_is_a_fault_and_the_others_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = put(tmp_path, log_000001=LOG, log_000002=LOG)

    def refusing(path: str, *, ahead: int) -> AbstractContextManager[BinaryIO]:
        if path.endswith("2"):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, ahead=ahead)

    monkeypatch.setattr(listing, "opened", refusing)
    found = find_binlogs(location)
    assert [binlog.stored.name for binlog in found.binlogs] == ["log.000001"]
    (fault,) = found.faults
    assert fault.startswith("log.000002: it cannot be read: Permission denied.")


def test_an_unknown_protocol_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="foo://bucket/logs cannot be read: Protocol not known"):
        find_binlogs("foo://bucket/logs")


@pytest.mark.parametrize("location", ["nowhere", "nowhere/log.*"])
def test_a_location_without_files_is_a_settings_error(tmp_path: Path, location: str) -> None:
    with pytest.raises(SettingsError, match="no files at") as error:
        find_binlogs(str(tmp_path / location))
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("binlog.000042", ("binlog", 42)),
        ("my.host-bin.1000000", ("my.host-bin", 1000000)),
        ("ver_5_1-wl2325_s.001", ("ver_5_1-wl2325_s", 1)),
        ("update-full-row.binlog", ("update-full-row.binlog", 1)),
    ],
)
def test_a_name_is_split_into_base_and_number(name: str, parts: tuple[str, int]) -> None:
    assert split_name(name) == parts


def test_a_damaged_archive_named_like_a_log_is_a_fault(tmp_path: Path) -> None:
    put(tmp_path, log_000001=LOG)
    (tmp_path / "log.000002.gz").write_bytes(pack("gzip", LOG)[:20])
    (tmp_path / "log.000003.zst").write_bytes(b"an error page")
    (tmp_path / "notes.gz").write_bytes(pack("gzip", b"not a log"))
    found = find_binlogs(str(tmp_path))
    assert [binlog.stored.name for binlog in found.binlogs] == ["log.000001"]
    assert len(found.faults) == 2
    assert found.faults[0].startswith("log.000002.gz, position ")
    assert "it is truncated. Copy the file" in found.faults[0]
    assert found.faults[1].startswith("log.000003.zst, position 0")
    (note,) = found.notes
    assert "notes.gz is skipped" in note


def test_only_a_limited_part_of_an_archive_is_expanded_to_find_its_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_LARGEST_HEAD", 1 << 20)
    endless = bytearray(LOG[:30])
    endless[13:17] = (1 << 30).to_bytes(4, "little")  # the length that FORMAT_DESCRIPTION claims
    (tmp_path / "log.000001.zst").write_bytes(pack("zstd", bytes(endless) + bytes(64 << 20)))
    read: list[int] = []
    at_once = ArchivedFile.readinto
    monkeypatch.setattr(
        ArchivedFile, "readinto", lambda file, into: read.append(len(into)) or at_once(file, into)
    )
    assert len(find_binlogs(str(tmp_path)).faults) == 1
    assert sum(read) <= 1 << 21
