"""The lake's root folder, and names as path parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pipeline.errors import MissingRequirementError
from pipeline.lake import encode_part, require_writable


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    require_writable(f"file://{tmp_path}/a/lake")
    assert (tmp_path / "a" / "lake").is_dir()


@pytest.mark.parametrize("place", ["file", "file/lake"])
def test_a_place_that_cannot_be_a_folder_is_told_in_a_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MissingRequirementError, match=f"{place} cannot be made"):
        require_writable(str(tmp_path / place))


def test_a_folder_of_another_user_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(MissingRequirementError, match="cannot be written by this user"):
        require_writable(str(tmp_path))


@given(st.text(min_size=1), st.text(min_size=1))
def test_names_are_path_parts_that_no_file_system_mixes_up(one: str, other: str) -> None:
    part = encode_part(one)
    assert "/" not in part
    assert part not in (".", "..")
    assert (part == encode_part(other)) == (one == other)


@pytest.mark.parametrize("root", ["dbfs:/lake", "hdfs:///lake", "abfss:c@a/lake", "s3a://b/lake"])
def test_a_uri_of_another_store_is_no_local_folder(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: list[str] = []
    monkeypatch.setattr("pipeline.lake.require_reachable", lambda root, key: asked.append(root))
    require_writable(root)
    assert asked == [root]
    assert list(tmp_path.iterdir()) == []
