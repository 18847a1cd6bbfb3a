"""A profile of our decoder: the seconds of each pass and of each family of columns.

`python -m benchmarks.peers.stages FILE PASSES` prints seconds per stage as JSON, and those of the
bound, measured in turn. Timers around the decoder's functions count their time without that of
nested timers. The time of checksums is the difference between framing with and without
verification.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from benchmarks.peers.bound import Bound, BoundPasses
from benchmarks.peers.ours import timed_decode
from benchmarks.peers.programs import output
from decoder import TypeOptions
from decoder.columns import Cells, Column, ColumnReader
from decoder.columns.registry import reader
from decoder.constants import ColumnType as T
from decoder.framing.frames import frame
from decoder.model.definition import ColumnDefinition

PASSES = 5
FRAMING, CHECKSUMS, BETWEEN = "event headers", "checksums", "Python between the passes"
STAGES = {
    "decoder.stream.segment_decoder.SlidingBuffer.fill": "bytes into the window",
    "decoder.compression.memory_budget.frame": FRAMING,
    "decoder.stream.segment_decoder.TransactionTracker.follow": "transactions",
    "decoder.transactions.state.Session.enter": "transactions",
    "decoder.stream.segment_decoder.transactions_batch": "transactions",
    "decoder.rows.row_decoder.scan": "walk",
    "decoder.rows.images.locate": "cell positions",
    "decoder.rows.row_decoder.clear_masks": "cell positions",
    "decoder.rows.images.TableReader.images": "Arrow structs",
    "decoder.rows.row_decoder.changes_batch": "LSN, GTID and time of each change",
}
"""Stages by the names under which the decoder looks up the timed functions."""
FAMILIES = {
    **dict.fromkeys((T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG, T.YEAR), "integers"),
    **dict.fromkeys((T.FLOAT, T.DOUBLE), "floats"),
    T.NEWDECIMAL: "decimals",
    **dict.fromkeys((T.DATE, T.TIME2, T.DATETIME2, T.TIMESTAMP2), "temporal"),
    **dict.fromkeys((T.ENUM, T.SET), "labels"),
    T.JSON: "JSON",
}
TEXT = "text and binary"
"""The family of all other types of the workloads."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Seconds of one decoding per stage, in total without timers, and those of the bound.

    `share_of_bound` is the decoder's speed without timers, as a fraction of the bound's.
    """

    seconds: dict[str, float]
    untimed: float
    bound: Bound
    share_of_bound: float

    @property
    def timed(self) -> float:
        """The total with timers."""
        return sum(self.seconds.values())


def run_stages(file: Path) -> Stages:
    """Measure the stages in a new process. Raises ProgramError."""
    found = json.loads(output([sys.executable, "-m", __name__, str(file), str(PASSES)]))
    return Stages(**{**found, "bound": Bound(**found["bound"])})


class Stopwatch:
    """Seconds per stage, without those of nested stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside = [0.0]

    def around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a timer for the stage."""

        def timed(*arguments: Any, **named: Any) -> Any:
            self._inside.append(0.0)
            began = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                took = time.perf_counter() - began
                self.seconds[stage] += took - self._inside.pop()
                self._inside[-1] += took

        return timed


@dataclass(frozen=True, slots=True)
class TimedReader:
    """A column's reader with the timer of its family."""

    arrow_type: pa.DataType
    read: Callable[[Cells], Column]


@contextmanager
def timers(stopwatch: Stopwatch, *, verify: bool) -> Iterator[None]:
    """Patch the decoder with a timer around each stage, with or without verified checksums."""

    def timed_reader(
        column: ColumnDefinition, options: TypeOptions, *, key: bool = False
    ) -> ColumnReader:
        found = reader(column, options, key=key)
        family = FAMILIES.get(T(column.type), TEXT)
        return TimedReader(found.arrow_type, stopwatch.around(family, found.read))

    with ExitStack() as patches:
        for place, stage in STAGES.items():
            patches.enter_context(_timer(stopwatch, place, stage, verify=verify))
        patches.enter_context(patch("decoder.rows.images.reader", timed_reader))
        yield


def _timer(stopwatch: Stopwatch, place: str, stage: str, *, verify: bool) -> Any:
    found: Any = partial(frame, verify=verify) if stage == FRAMING else _found(place)
    timed = stopwatch.around(stage, found)
    return patch(place, lambda *arguments, **named: timed(*arguments, **named))


def _found(place: str) -> Any:
    module, *names = place.split(".")[1:]
    found = getattr(__import__(f"decoder.{module}", fromlist=["*"]), names[0])
    for name in names[1:]:
        found = getattr(found, name)
    return found


def profile(file: bytes, *, verify: bool) -> dict[str, float]:
    """Return the seconds per stage of one decoding."""
    stopwatch = Stopwatch()
    with timers(stopwatch, verify=verify):
        stopwatch.around(BETWEEN, timed_decode)(file)
    return dict(stopwatch.seconds)


def measure(file: bytes, passes: int) -> Stages:
    """Return the fastest passes; decoding with and without timers and the bound run in turn."""
    bound = BoundPasses(file)
    timed_decode(file)
    bound.run()
    untimed, bounds, verified, trusted = [], [], [], []
    for _ in range(passes):
        untimed.append(timed_decode(file))
        bounds.append(bound.run())
        verified.append(profile(file, verify=True))
        trusted.append(profile(file, verify=False)[FRAMING])
    best = min(verified, key=lambda stages: sum(stages.values()))
    headers = min(*trusted, best[FRAMING])
    return Stages(
        {FRAMING: headers, CHECKSUMS: best[FRAMING] - headers, **_without_framing(best)},
        min(untimed),
        min(bounds, key=lambda found: found.seconds),
        median(found.seconds / whole for found, whole in zip(bounds, untimed, strict=True)),
    )


def _without_framing(stages: dict[str, float]) -> dict[str, float]:
    return {stage: seconds for stage, seconds in stages.items() if stage != FRAMING}


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Path(sys.argv[1]).read_bytes(), int(sys.argv[2])))))
