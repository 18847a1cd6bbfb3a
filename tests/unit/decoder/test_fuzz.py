"""Damaged input of all kinds either decodes or raises a BinlogError, never another error.

The examples are the same in every run; `make fuzz` searches for new ones, guided by coverage.
Kernels run compiled, interpreted, and compiled with bounds checks (`NUMBA_BOUNDSCHECK=1`), where an
access outside an array is an IndexError.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st

from decoder import BinlogError
from decoder.constants import EventType
from tests.fuzz import lengths
from tests.fuzz.corpus import ROOT
from tests.fuzz.findings import REGRESSIONS, inputs
from tests.fuzz.replay import MODES, replay
from tests.fuzz.targets import TARGETS
from tests.support.decoder.event_bytes import event_bytes, log_bytes
from tests.support.decoder.logs import gtid, payload
from tests.support.decoder.mutations import READERS, is_refused, mutated, sources

LOGS = sources()
EDIT = st.tuples(st.integers(0, 6), st.integers(0, 1 << 14), st.integers(0, 1 << 16))
REPEATABLE = settings(
    max_examples=700,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("reader", READERS)
@given(log=st.sampled_from(LOGS), edits=st.lists(EDIT, min_size=1, max_size=4))
@REPEATABLE
def test_mutated_logs_decode_or_raise(
    reader: str, log: bytes, edits: list[tuple[int, int, int]]
) -> None:
    is_refused(READERS[reader], mutated(log, edits))


@pytest.mark.parametrize("reader", READERS)
@given(log=st.sampled_from(LOGS), content=st.binary(max_size=300))
@REPEATABLE
def test_any_bytes_after_a_format_description_decode_or_raise(
    reader: str, log: bytes, content: bytes
) -> None:
    description_end = 4 + int.from_bytes(log[13:17], "little")
    is_refused(READERS[reader], log[:description_end] + content)


@pytest.mark.parametrize(
    ("mode", "count"), [("compiled", 1500), ("checked", 250), ("interpreted", 300)]
)
def test_random_mutations_decode_or_raise_in_every_mode(mode: str, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.decoder.mutations", str(count), "20260725", *READERS],
        env={**os.environ, **MODES[mode]},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout) > count // 3


@pytest.mark.parametrize("mode", MODES)
def test_earlier_findings_stay_fixed(mode: str) -> None:
    found = inputs(REGRESSIONS)
    assert {path.parent.name for path in found} <= TARGETS.keys()
    assert found
    assert replay(found, mode) == {}


@pytest.mark.parametrize("mode", MODES)
def test_a_length_far_beyond_its_bytes_costs_no_memory_or_time(mode: str, tmp_path: Path) -> None:
    assert replay(_files(lengths.named(), tmp_path), mode) == {}


def test_a_huge_length_anywhere_in_a_log_costs_no_memory_or_time(tmp_path: Path) -> None:
    assert replay(_files(lengths.everywhere(), tmp_path), "checked") == {}


def test_limits_of_time_and_memory_are_enforced(tmp_path: Path) -> None:
    """Otherwise a child process that checks nothing would look like one that finds nothing."""
    inner = event_bytes(EventType.IGNORABLE, bytes(200_000_000))
    log = log_bytes(gtid(1), payload(inner, compressed=zstandard.compress(inner)))
    paths = _files([("events", log), ("json", b"")], tmp_path)
    assert "bytes of memory" in replay(paths, "compiled")[paths[0]]


def _files(found: Iterable[tuple[str, bytes]], folder: Path) -> list[Path]:
    paths = []
    for number, (target, data) in enumerate(found):
        path = folder / target / str(number)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        paths.append(path)
    return paths


@pytest.mark.parametrize("target", TARGETS)
def test_targets_decode_their_seeds(target: str) -> None:
    """A target that rejects all of its seeds would explore nothing."""
    assert any(_is_decoded(target, seed) for seed in TARGETS[target].seeds())


def _is_decoded(target: str, data: bytes) -> bool:
    try:
        TARGETS[target].run(data)
    except BinlogError:
        return False
    return True
