"""The programs that measure our own decoder, run on the small log of its precompilation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from io import BufferedReader, BytesIO
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard

import decoder
from benchmarks.peers.bound import BoundPasses
from benchmarks.peers.folding import read, same_tables, without_folding, write
from benchmarks.peers.ours import decode, framed
from benchmarks.peers.stages import BETWEEN, FRAMING, Stopwatch, measure, profile

IMAGES = {"insert": 1, "update": 2, "delete": 1}


@pytest.fixture(scope="module")
def log() -> bytes:
    packed = files("decoder.stream").joinpath("warm.binlog.zst").read_bytes()
    return zstandard.decompress(packed)


def table(*values: int | None) -> pa.Table:
    return pa.table({"value": pa.array(values, pa.int32())})


def test_events_images_and_cells_are_counted(log: bytes) -> None:
    outside = sum(not event.inside_payload for event in decoder.events(log))
    assert len(framed(log)) == outside
    expected = Counter[str]()
    for changes in decoder.read(log):
        images = sum(IMAGES[op] for op in changes.batch.column("__op").to_pylist())
        cells = images * len(changes.definition.columns)
        expected.update({"images": images, "cells": cells})
    assert decode(log) == (expected["images"], expected["cells"])


def test_a_stages_time_excludes_nested_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0, 10, 13, 20, 24, 30])  # the outer begins, the inner twice, the outer ends
    monkeypatch.setattr("benchmarks.peers.stages.time.perf_counter", lambda: next(clock))
    stopwatch = Stopwatch()
    inner = stopwatch.around("inner", lambda: None)
    stopwatch.around("outer", lambda: (inner(), inner()))()
    assert stopwatch.seconds == {"inner": 3 + 4, "outer": 30 - 3 - 4}


def test_a_stage_that_raises_is_timed() -> None:
    stopwatch = Stopwatch()
    with pytest.raises(ZeroDivisionError):
        stopwatch.around("stage", lambda: 1 // 0)()
    assert stopwatch.seconds["stage"] > 0


def test_the_profile_times_every_pass_and_family_and_restores_the_decoder(
    log: bytes,
) -> None:
    found = profile(log, verify=True)
    assert found.keys() >= {
        FRAMING,
        BETWEEN,
        "walk",
        "transactions",
        "JSON",
        "decimals",
        "temporal",
    }
    assert all(seconds > 0 for seconds in found.values())
    assert profile(log, verify=True).keys() == found.keys()


def test_the_stages_and_the_bound_are_measured_together(log: bytes) -> None:
    stages = measure(log, passes=1)
    assert stages.share_of_bound == stages.bound.seconds / stages.untimed
    assert stages.bound.seconds == stages.bound.crc32 + stages.bound.memcpy


def test_the_bound_touches_every_byte(log: bytes) -> None:
    bound = BoundPasses(log).run()
    assert min(bound.crc32, bound.zlib, bound.memcpy) > 0


def test_written_batches_are_read_back_equal(log: bytes, tmp_path: Path) -> None:
    sink = BytesIO()
    write(log, sink)

    def again() -> Iterator[pa.Table]:
        return read(BufferedReader(BytesIO(sink.getvalue())))

    assert sum(1 for _ in again()) > 1
    assert same_tables(again(), again())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([table(1, None)], [table(1, 0)]),
        ([table(1), table(2)], [table(1)]),
        ([table(1)], [table(1), table(2)]),
        ([], []),
    ],
    ids=["a value", "one too few", "one too many", "nothing at all"],
)
def test_different_batches_are_not_the_same(one: list[pa.Table], other: list[pa.Table]) -> None:
    assert not same_tables(iter(one), iter(other))


def test_without_folding_the_cpu_features_exclude_pclmul(tmp_path: Path) -> None:
    features = without_folding(tmp_path)["NUMBA_CPU_FEATURES"].split(",")
    assert "-pclmul" in features
    assert "+pclmul" not in features
