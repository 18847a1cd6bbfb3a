"""Damaged input of all kinds either decodes or raises a BinlogError, never another error.

The examples are the same in every run; `make fuzz` searches for new ones, guided by coverage.
Kernels run compiled, interpreted, and compiled with bounds checks (`NUMBA_BOUNDSCHECK=1`), where an
access outside an array is an IndexError.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st

from decoder import BinlogError
from decoder.constants import EventType
from tests.fuzz import lengths
from tests.fuzz.findings import REGRESSIONS, inputs
from tests.fuzz.replay import MODES, replay
from tests.fuzz.targets import TARGETS
from tests.support.decoder.event_bytes import event_bytes, log_bytes
from tests.support.decoder.logs import gtid, payload
from tests.support.decoder.mutations import READERS, is_refused, mutated, random_mutations, sources

LOGS = sources()
MUTATIONS = list(random_mutations(Random(20260725), LOGS, 250))
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


def test_a_third_of_random_mutations_is_refused() -> None:
    """Otherwise they would change only what is not read."""
    refused = [all([is_refused(READERS[r], log) for r in READERS]) for log in MUTATIONS]
    assert sum(refused) > len(refused) // 3


@pytest.mark.parametrize("mode", MODES)
def test_damaged_input_costs_no_memory_or_time_in_any_mode(mode: str, tmp_path: Path) -> None:
    """Mutations, earlier findings, and lengths far beyond their bytes.

    The last inputs show that limits are enforced: otherwise a child process that checks nothing
    would look like one that finds nothing.
    """
    earlier = inputs(REGRESSIONS)
    assert {path.parent.name for path in earlier} <= TARGETS.keys()
    assert earlier
    damaged = [*lengths.named(), *((reader, log) for log in MUTATIONS for reader in READERS)]
    if mode == "checked":
        damaged += lengths.everywhere()
    inner = event_bytes(EventType.IGNORABLE, bytes(200_000_000))
    log = log_bytes(gtid(1), payload(inner, compressed=zstandard.compress(inner)))
    *paths, large, after = _files([*damaged, ("events", log), ("json", b"")], tmp_path)
    found = replay([*earlier, *paths, large, after], mode)
    assert "bytes of memory" in found.pop(large)
    assert found == {}


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
