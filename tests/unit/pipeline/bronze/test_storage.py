"""Which files a folder or a glob means: links, hidden files, folders that cannot be listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem

from pipeline.bronze.storage import list_files
from pipeline.errors import SettingsError


def put(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"log")


def listed(location: Path) -> list[str]:
    return [file.path for file in list_files(str(location))]


def test_links_to_folders_are_followed_and_never_for_ever(tmp_path: Path) -> None:
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    put(logs / "binlog.000001", elsewhere / "deep" / "binlog.000002")
    (logs / "day").symlink_to(elsewhere)
    (elsewhere / "deep" / "back").symlink_to(logs)
    (elsewhere / "deep" / "self").symlink_to(elsewhere / "deep")
    (logs / "nowhere").symlink_to(tmp_path / "gone")
    (logs / "binlog.000003").symlink_to(logs / "binlog.000001")
    found = [
        str(logs / name) for name in ("binlog.000001", "binlog.000003", "day/deep/binlog.000002")
    ]
    assert listed(logs) == found
    assert set(found) <= set(listed(logs / "*"))  # and what a link back leads to, once
    assert listed(logs / "*" / "deep" / "binlog.*") == found[2:]
    (tmp_path / "all").symlink_to(logs)
    assert len(listed(tmp_path / "all")) == 3


def test_hidden_files_are_under_way_and_left_out(tmp_path: Path) -> None:
    """rsync writes `.NAME.Ab3dEf` and renames it then."""
    hidden = tmp_path / ".binlog.000002.gz.Ab3dEf"
    put(tmp_path / "binlog.000001", hidden)
    put(tmp_path / ".snapshot" / "binlog.000001", tmp_path / "_tmp" / "binlog.000001")
    assert listed(tmp_path) == listed(tmp_path / "*") == [str(tmp_path / "binlog.000001")]
    assert listed(hidden) == [str(hidden)]
    assert listed(tmp_path / ".binlog*") == [str(hidden)]
    assert listed(tmp_path / "_t*") == [str(tmp_path / "_tmp" / "binlog.000001")]


def test_a_folder_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "binlog.000001", tmp_path / "closed" / "binlog.000002")
    real = LocalFileSystem.ls
    refusal: OSError = PermissionError(13, "Permission denied")

    def ls(files: Any, path: str, detail: bool = False, **more: Any) -> Any:
        if path.endswith("closed"):
            raise refusal
        return real(files, path, detail, **more)

    monkeypatch.setattr(LocalFileSystem, "ls", ls)
    for location in (tmp_path, tmp_path / "*"):
        with pytest.raises(SettingsError) as error:
            listed(location)
        assert f"the folder {tmp_path}/closed cannot be listed: Permission denied" in str(
            error.value
        )
    refusal = FileNotFoundError("purged since")
    assert listed(tmp_path) == [str(tmp_path / "binlog.000001")]
