"""The decoder as a library: a whole file in memory to changes, or an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from decoder.encryption.keys import NO_KEYS, Keys
from decoder.model.options import TypeOptions
from decoder.model.results import Changes, Faults
from decoder.stream.segment_decoder import Segment, SegmentDecoder

_PLAIN = TypeOptions()


def read(
    data: Any, *, file: str = "", options: TypeOptions = _PLAIN, keys: Keys = NO_KEYS
) -> Iterator[Changes]:
    """The row changes in a binary log file, or in a run of its events that starts with its format.

    `data` is anything with a buffer: bytes, bytearray, memoryview, a numpy array, a pyarrow
    Buffer. Each `Changes` has `.schema`, `.table`, `.definition` and `.batch`, with the columns of
    `decoder.model.schemas.changes`. LSNs count from the number at the end of `file`'s name (0
    without). An encrypted log is opened by `keys`, and decrypted as a whole.
    Raises BinlogError at the first fault, after what is whole before it. A transaction that goes on
    behind the data (a segment may end inside of one) is given as far as it goes, and so are rows
    that a ROLLBACK TO SAVEPOINT took back; the pipeline tells both from `SegmentDecoder`'s results.
    """
    decoder = SegmentDecoder(segment_of(file), options)
    for result in decoder.decode([keys.decrypted(data, file=file)]):
        if isinstance(result, Changes):
            yield result
        elif isinstance(result, Faults) and decoder.first_fault is not None:
            raise decoder.first_fault


def segment_of(file: str) -> Segment:
    """A whole file as a segment: LSNs count from the number at the end of its name, or from 0."""
    number = re.search(r"\.(\d+)$", file)
    return Segment(file, int(number[1]) if number else 0)
