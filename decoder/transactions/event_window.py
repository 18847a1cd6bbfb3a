"""What passes from one pass to the next: the events in a buffer, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from decoder.constants import EventType
from decoder.framing.frames import TYPE, VALID
from decoder.kernels.memory import Bytes
from decoder.transactions.records import KIND_OF_TYPE

_IS_ROWS: npt.NDArray[np.int64] = np.zeros(256, np.int64)
_IS_ROWS[[EventType.TABLE_MAP, *KIND_OF_TYPE]] = 1


@dataclass(frozen=True, slots=True)
class Window:
    """Events in one buffer, index = event, with what was found out about them.

    `table` is `Frames.table`; `transaction` the index of its transaction (−1: none), `position`
    where it is in the file (in a payload: where the payload is), `statement` what a QUERY is,
    `ends` 1 where a transaction ends with it. `attention` lists the events that Python must look
    at; `inner` tells that the events come out of a payload.
    """

    buffer: Bytes
    table: npt.NDArray[np.int64]
    transaction: npt.NDArray[np.int64]
    position: npt.NDArray[np.int64]
    statement: npt.NDArray[np.int8]
    ends: npt.NDArray[np.int8]
    attention: npt.NDArray[np.int64]
    inner: bool = False

    def __len__(self) -> int:
        return int(self.table.shape[1])

    def attention_with_context(self) -> Iterator[tuple[int, bool, bool]]:
        """(event, has_rows, is_payload) of the events that Python must look at.

        `has_rows`: TABLE_MAPs or rows events stand between it and the one before; `is_payload`: it
        is a sound TRANSACTION_PAYLOAD of the file itself.
        """
        listed = self.attention
        before = np.concatenate(([0], np.cumsum(_IS_ROWS[self.table[TYPE]])))
        starts = np.concatenate(([0], listed[:-1] + 1)) if len(listed) else listed
        has_rows = before[listed] > before[starts]
        is_payload = self.table[TYPE, listed] == EventType.TRANSACTION_PAYLOAD
        is_payload &= (self.table[VALID, listed] != 0) & (not self.inner)
        return zip(listed.tolist(), has_rows.tolist(), is_payload.tolist(), strict=True)
