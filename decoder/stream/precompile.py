"""Compilation of all kernels, once per machine and under a lock; later processes only load them.

Kernels are compiled on use: a small recorded log (`warm.binlog.zst`, made by
`tests/support/decoder/record_warm_log.py`) has a row of every type. This takes some thirty seconds
of one core, so a second process works from the other end, and each loads what the other has
compiled. Loading all kernels takes a fraction of a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any

import numpy as np
import zstandard
from numba.core import event

from decoder.columns import HEAD_SLACK, SLACK, Cells
from decoder.columns.cells import CellError
from decoder.columns.registry import reader
from decoder.constants import BINARY_COLLATION, ColumnType, LogicalType
from decoder.dump_text.rows import insert_rows, line_rows, skip_space
from decoder.dump_text.statements import statement_end
from decoder.events.table_map import TableMapEvent
from decoder.framing.replication_packets import unpack
from decoder.kernels.cache import WARM, cache_folder, locked
from decoder.kernels.memory import INTERPRETED
from decoder.model.definition import ColumnDefinition
from decoder.model.options import TypeOptions
from decoder.model.results import Faults
from decoder.model.segment import Segment
from decoder.segments.log_windows import Framer
from decoder.stream.event_reader import events
from decoder.stream.excerpt import Excerpt
from decoder.stream.segment_decoder import SegmentDecoder

_OPTIONS = (TypeOptions(), TypeOptions(time="micros", zero_dates="string"))
_UTF8MB4_BIN = 46
_UNRECORDED = (
    (ColumnDefinition("datetime", ColumnType.DATETIME), 0),
    (ColumnDefinition("time", ColumnType.TIME), 0),
    (ColumnDefinition("timestamp", ColumnType.TIMESTAMP), 0),
    (ColumnDefinition("text", ColumnType.VARCHAR, collation=_UTF8MB4_BIN), 0xFF),
    (
        ColumnDefinition(
            "uuid", ColumnType.STRING, collation=BINARY_COLLATION, logical=LogicalType.UUID
        ),
        0,
    ),
)
"""Columns that a current MySQL server does not log: types from before MySQL 5.6.4, invalid text,
and types that only MariaDB has."""
_STOP_LENGTH = 23
_CELLS = (0, ord("a"), 0xFF)
"""Cell content: ASCII and other bytes."""
_SECOND = "from decoder.stream.precompile import use_kernels_from_the_end as use; use()"


def is_warm() -> bool:
    """Return True if `warm` has nothing to do."""
    if INTERPRETED:
        return True
    try:
        return (cache_folder() / WARM).exists()
    except OSError:
        return False


def warm(progress: Callable[[str], None] | None = None) -> bool:
    """Compile and cache all kernels; return False if they are cached already or cannot be.

    `progress` is called with the name of each compiled kernel. If several processes call this at
    the same time, one compiles and the others wait.
    """
    if is_warm():
        return False
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError:  # the cache cannot be written: each process compiles what it uses
        return False
    with locked(lock):
        if is_warm():
            return False
        with _reported(progress), _second_process():
            use_every_kernel()
        (folder / WARM).touch()
    return True


def use_every_kernel() -> None:
    """Decode the recorded log with all type options, a damaged copy, and the unrecorded types."""
    recorded = _recorded()
    for options in _OPTIONS:
        faults = _faults(recorded, options)
        if faults:
            raise AssertionError(f"the recorded log cannot be decoded: {faults}")
    damaged = bytearray(recorded)
    damaged[-_STOP_LENGTH - 1] ^= 1
    _faults(bytes(damaged), _OPTIONS[0])
    for column, byte in _UNRECORDED:
        reader(column, _OPTIONS[0]).read(_one_cell(byte))
    unpack(np.zeros(SLACK, np.uint8), 0, 0, 0, limit=1)
    excerpt = Excerpt()
    for window in Framer().feed(recorded):
        excerpt.add(window)
    _read_dumped_rows()


def use_kernels_from_the_end() -> None:
    """Use the column kernels in reverse order, with single cells.

    Kernels that need a whole log or other cells are left to `use_every_kernel`.
    """
    _read_dumped_rows()
    for column, byte in reversed(_UNRECORDED):
        reader(column, _OPTIONS[0]).read(_one_cell(byte))
    maps = [event for event in events(_recorded()) if isinstance(event, TableMapEvent)]
    for options in reversed(_OPTIONS):
        for column in reversed([column for found in maps for column in found.definition.columns]):
            for byte in _CELLS:
                with suppress(CellError):
                    reader(column, options).read(_one_cell(byte))


@contextmanager
def _second_process() -> Iterator[None]:
    """Compile in reverse order in a second process meanwhile, if there is a core for it.

    This is only an optimization: if it fails, this process compiles what is missing.
    """
    if (os.cpu_count() or 1) == 1 or not sys.executable:
        yield
        return
    path = os.pathsep.join(filter(None, sys.path))
    second = subprocess.Popen(
        [sys.executable, "-c", _SECOND],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        second.kill()
        second.wait()


def _recorded() -> bytes:
    return zstandard.decompress(files("decoder.stream").joinpath("warm.binlog.zst").read_bytes())


def _read_dumped_rows() -> None:
    """Read a row in each format of dumps, and the end of a statement."""
    text = np.frombuffer(bytearray(b"(1);" + bytes(SLACK)), np.uint8)
    out, state = np.zeros(SLACK, np.uint8), np.zeros(2, np.int64)
    positions, lengths = np.zeros(1, np.int32), np.zeros(1, np.int32)
    insert_rows(text, 0, 4, True, 1, 1, out, positions, lengths, state)
    line_rows(text, 0, 4, 9, 10, -1, 92, 1, 1, out, positions, lengths, state)
    statement_end(text, 0, 4, True, 59, False, state)
    skip_space(text, 0, 4)


def _one_cell(byte: int) -> Cells:
    """Return a cell with eight times the same byte."""
    buffer = np.full(HEAD_SLACK + 8 + SLACK, byte, np.uint8)
    return Cells(buffer, np.array([HEAD_SLACK], np.int32), np.array([8], np.int32), 0)


def _faults(log: bytes, options: TypeOptions) -> list[str]:
    decoder = SegmentDecoder(Segment("warm", 1), options)
    results = [result for result in decoder.decode([log]) if isinstance(result, Faults)]
    return [str(fault) for result in results for fault in result.batch.to_pylist()]


def _listener(progress: Callable[[str], None]) -> Any:
    """Return a listener for numba's events that reports the end of each compilation."""
    methods = {
        "on_start": lambda self, happened: None,
        "on_end": lambda self, happened: progress(happened.data["dispatcher"].__name__),
    }
    return type("_Compiled", (event.Listener,), methods)()


@contextmanager
def _reported(progress: Callable[[str], None] | None) -> Iterator[None]:
    """Report the kernels that numba compiles meanwhile."""
    if progress is None:
        yield
        return
    with event.install_listener("numba:compile", _listener(progress)):
        yield
