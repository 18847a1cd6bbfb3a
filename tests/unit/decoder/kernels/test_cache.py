"""Compiled kernels are found again from any folder or archive, and are kept from others' hands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import IndexDataCacheFile

import decoder
from decoder.kernels import cache as kernel_cache
from decoder.kernels.cache import add_one_at_a_time, cache_folder
from decoder.kernels.memory import INTERPRETED
from decoder.stream import precompile as warm

COMPILED = """
import json
import numpy as np
import decoder
from decoder.kernels.cache import cache_folder
from decoder.stream.precompile import _reported

compiled = []
with _reported(compiled.append):
    from decoder.kernels.memory import load_u24
    found = load_u24(np.array([1, 2, 3], np.uint8), 0)
print(json.dumps([decoder.__file__, cache_folder().name, found, "load_u24" in compiled]))
"""


def archive(file: Path) -> Path:
    source = Path(decoder.__file__).parent
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(source.rglob("*.py"), reverse=True):
            made.write(path, path.relative_to(source.parent))
    return file


def run(place: Path, cache: Path) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        env={**os.environ, "PYTHONPATH": str(place), "BINLAKE_CACHE": str(cache)},
        # Python looks into the working folder first.
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled under NUMBA_DISABLE_JIT")
def test_what_one_archive_compiled_another_elsewhere_only_loads(tmp_path: Path) -> None:
    first = archive(tmp_path / "app-1" / "binlake.zip")
    second = archive(tmp_path / "app-2" / "binlake-0.1.0-py3-none-any.whl")
    ran = [run(place, tmp_path / "cache") for place in (first, second)]
    assert [Path(file).parent.parent for file, *_ in ran] == [first, second]
    assert [rest for _, *rest in ran] == [
        [cache_folder().name, 0x030201, True],
        [cache_folder().name, 0x030201, False],
    ]


def test_the_cache_folder_is_named_by_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    name = cache_folder().name
    assert kernel_cache.cache_folder.__wrapped__().name == name
    monkeypatch.setattr("numba.__version__", "0.0.0")
    assert kernel_cache.cache_folder.__wrapped__().name != name


@pytest.fixture
def without_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where temporary files go, for a user who has no home: YARN starts executors so."""
    for variable in ("BINLAKE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_without_a_home_kernels_are_kept_among_temporary_files(without_home: Path) -> None:
    root = kernel_cache.cache_folder.__wrapped__().parent
    assert root == without_home / f"binlake-{os.getuid()}"
    assert root.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_is_not_loaded_from(
    without_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = without_home / f"binlake-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    asked = kernel_cache.cache_folder.__wrapped__
    with pytest.raises(PermissionError, match="not of this user alone"):
        asked()
    monkeypatch.setattr(warm, "cache_folder", asked)
    assert warm.warm() is False
    assert warm.is_warm() is INTERPRETED


def test_a_home_that_others_can_write_is_not_loaded_from(
    without_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where `HOME=/tmp`, and somebody else was there first."""
    home = without_home / "home"
    folder = home / "binlake"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    asked = kernel_cache.cache_folder.__wrapped__
    assert asked().parent == folder
    folder.chmod(0o777)
    assert asked().parent == without_home / f"binlake-{os.getuid()}"


def test_who_compiles_other_forms_at_the_same_time_keeps_all_of_them(tmp_path: Path) -> None:
    """Numba alone gives two of them one file: it loses forms, or finds one under another's name."""

    def add(number: int) -> None:
        forms = IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
        add_one_at_a_time(forms)
        for form in range(20):
            forms.save((number, form), f"{number} {form}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    kept = IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    added = [(number, form) for number in range(4) for form in range(20)]
    assert [kept.load(form) for form in added] == [f"{n} {form}" for n, form in added]
