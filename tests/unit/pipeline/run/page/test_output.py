"""A page is written whole or not at all, wherever it goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from pipeline.errors import SettingsError, UnreachableError
from pipeline.run.page.output import require_file, write_page


@pytest.mark.parametrize("place", ["{folder}/new/lake.html", "file://{folder}/lake.html"])
def test_a_page_replaces_the_previous_one_and_leaves_nothing_beside_it(
    tmp_path: Path, place: str
) -> None:
    where = place.format(folder=tmp_path)
    for text in ("first", "sécond"):
        require_file(where)
        assert write_page(where, text) == len(text.encode())
    (file,) = (one for one in tmp_path.rglob("*") if one.is_file())
    assert (file.name, file.read_text()) == ("lake.html", "sécond")


def test_a_page_can_be_an_object_of_a_store() -> None:
    require_file("memory://reports/lake.html")
    write_page("memory://reports/lake.html", "page")
    assert fsspec.filesystem("memory").find("/reports") == ["/reports/lake.html"]


def test_a_failed_write_keeps_the_previous_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lake.html"
    write_page(str(file), "previous")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalFileSystem, "mv", full)
    with pytest.raises(UnreachableError, match="No space left on device"):
        write_page(str(file), "next")
    assert [one.name for one in tmp_path.iterdir()] == ["lake.html"]
    assert file.read_text() == "previous"


@pytest.mark.parametrize("place", ["{folder}", "{folder}/none/"])
def test_a_folder_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(SettingsError, match="is a folder"):
        require_file(place.format(folder=tmp_path))
