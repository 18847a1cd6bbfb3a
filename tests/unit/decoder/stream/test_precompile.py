"""Precompilation: the recorded log is decoded without faults, once per machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from numba import njit

import decoder
from decoder.constants import ColumnType
from decoder.kernels.memory import INTERPRETED
from decoder.stream import precompile as warm

RECORDED = Path(warm.__file__).parent / "warm.binlog.zst"
NOT_WRITTEN_BY_MYSQL_9 = {
    *("DECIMAL", "NULL", "TIMESTAMP", "TIME", "DATETIME", "NEWDATE", "TYPED_ARRAY", "INVALID"),
    *("BOOL", "TINY_BLOB", "MEDIUM_BLOB", "LONG_BLOB", "VAR_STRING"),
    *("BLOB_COMPRESSED", "VARCHAR_COMPRESSED"),
}


def test_the_recorded_log_contains_every_type() -> None:
    log = zstandard.decompress(RECORDED.read_bytes())
    columns = [column for found in decoder.read(log) for column in found.definition.columns]
    types = {column.type.name for column in columns}
    assert types >= {kind.name for kind in ColumnType} - NOT_WRITTEN_BY_MYSQL_9


def test_the_recorded_log_contains_partial_images_and_documents() -> None:
    log = zstandard.decompress(RECORDED.read_bytes())
    batches = [found.batch for found in decoder.read(log)]
    for column in ("__absent_before", "__absent_after", "__json_diff"):
        assert any(batch[column].null_count < len(batch) for batch in batches)


@pytest.mark.parametrize("use", [warm.use_every_kernel, warm.use_kernels_from_the_end])
def test_every_kernel_can_be_used(use: Callable[[], None]) -> None:
    use()


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled under NUMBA_DISABLE_JIT")
def test_a_second_process_compiles_into_the_same_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLAKE_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with warm._second_process():
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("kernels-*/decoder.dump_text.statements/*.nbi")):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_no_second_process_is_started_on_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(warm, "_SECOND", None)
    with warm._second_process():
        pass


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled under NUMBA_DISABLE_JIT")
def test_kernels_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    monkeypatch.setattr(warm, "cache_folder", lambda: tmp_path / "kernels")
    monkeypatch.setattr(warm, "use_every_kernel", lambda: used.append(1))
    assert warm.warm()
    assert not warm.warm(print)
    assert used == [1]


def test_compiled_kernels_are_reported() -> None:
    # Not a kernel of the decoder: those are cached, so a second run would compile nothing.
    @njit
    def never_compiled_before(number: int) -> int:
        return number + 1

    reported: list[str] = []
    with warm._reported(reported.append):
        assert never_compiled_before(1) == 2
    assert reported == ([] if INTERPRETED else ["never_compiled_before"])
