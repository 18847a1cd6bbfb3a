"""The decoder as a library: decodes a whole file in memory, or raises an error."""

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
    """Yield the row changes in a binary log file, or in a segment that starts with its format.

    `data` is any object with a buffer: bytes, bytearray, memoryview, numpy array, pyarrow Buffer.
    Each `Changes` has `.schema`, `.table`, `.definition` and `.batch`, with the columns of
    `decoder.model.schemas.changes`. The ordinal in LSNs is the number at the end of `file`'s name
    (0 without one). An encrypted log is decrypted as a whole, with `keys`.

    Raises BinlogError at the first error, after yielding the complete transactions before it. The
    changes include those of a transaction that is incomplete at the end of the data (a segment may
    end inside one), and rows that a ROLLBACK TO SAVEPOINT rolled back; the results of
    `SegmentDecoder` identify both.
    """
    decoder = SegmentDecoder(segment_of(file), options)
    for result in decoder.decode([keys.decrypted(data, file=file)]):
        if isinstance(result, Changes):
            yield result
        elif isinstance(result, Faults) and decoder.first_fault is not None:
            raise decoder.first_fault


def segment_of(file: str) -> Segment:
    """Return a whole file as a segment; its ordinal is the number at the end of its name, or 0."""
    number = re.search(r"\.(\d+)$", file)
    return Segment(file, int(number[1]) if number else 0)
