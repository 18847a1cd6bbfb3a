"""The kernel cache works for any folder or archive, and is safe from other users and processes."""

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
from decoder.kernels.cache import cache_folder, serialize_saves
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
def test_kernels_compiled_from_one_archive_are_loaded_from_another(tmp_path: Path) -> None:
    first = archive(tmp_path / "app-1" / "binlake.zip")
    second = archive(tmp_path / "app-2" / "binlake-0.1.0-py3-none-any.whl")
    ran = [run(place, tmp_path / "cache") for place in (first, second)]
    assert [Path(file).parent.parent for file, *_ in ran] == [first, second]
    assert [rest for _, *rest in ran] == [
        [cache_folder().name, 0x030201, True],
        [cache_folder().name, 0x030201, False],
    ]


def test_the_folder_name_depends_on_numba_s_version(monkeypatch: pytest.MonkeyPatch) -> None:
    name = cache_folder().name
    assert kernel_cache.cache_folder.__wrapped__().name == name
    monkeypatch.setattr("numba.__version__", "0.0.0")
    assert kernel_cache.cache_folder.__wrapped__().name != name


@pytest.fixture
def without_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder for temporary files of a user without a home, as YARN's executors run."""
    for variable in ("BINLAKE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_without_a_home_the_cache_is_a_private_temporary_folder(without_home: Path) -> None:
    root = kernel_cache.cache_folder.__wrapped__().parent
    assert root == without_home / f"binlake-{os.getuid()}"
    assert root.stat().st_mode & 0o777 == 0o700


def test_a_temporary_folder_writable_by_others_is_not_used(
    without_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = without_home / f"binlake-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    uncached_folder = kernel_cache.cache_folder.__wrapped__
    with pytest.raises(PermissionError, match="must belong to this user"):
        uncached_folder()
    monkeypatch.setattr(warm, "cache_folder", uncached_folder)
    assert warm.warm() is False
    assert warm.is_warm() is INTERPRETED


def test_a_home_folder_writable_by_others_is_not_used(
    without_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `HOME=/tmp`, another user may have created the folder first."""
    home = without_home / "home"
    folder = home / "binlake"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    uncached_folder = kernel_cache.cache_folder.__wrapped__
    assert uncached_folder().parent == folder
    folder.chmod(0o777)
    assert uncached_folder().parent == without_home / f"binlake-{os.getuid()}"


def test_overloads_saved_concurrently_are_all_kept(tmp_path: Path) -> None:
    """Numba alone gives two overloads one file: it loses some, or loads the wrong one."""

    def add(number: int) -> None:
        cache_file = IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
        serialize_saves(cache_file)
        for overload in range(20):
            cache_file.save((number, overload), f"{number} {overload}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    saved = IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    keys = [(number, overload) for number in range(4) for overload in range(20)]
    assert [saved.load(key) for key in keys] == [f"{n} {overload}" for n, overload in keys]
