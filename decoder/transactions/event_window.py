"""The events in a buffer as arrays, which are passed from pass to pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from decoder.constants import EventType, event_name
from decoder.errors import MalformedError
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.registry import parse
from decoder.framing.frames import BODY, END, TYPE, VALID, header_of
from decoder.kernels.memory import Bytes
from decoder.transactions.records import KIND_OF_TYPE

Parsed = TypeVar("Parsed", bound=Event)
_IS_ROWS: npt.NDArray[np.int64] = np.zeros(256, np.int64)
_IS_ROWS[[EventType.TABLE_MAP, *KIND_OF_TYPE]] = 1


@dataclass(frozen=True, slots=True)
class Window:
    """The events in one buffer and their roles, indexed by event.

    `table` is `Frames.table`; `transaction` the index of the event's transaction (−1: none),
    `position` that in the file (in a payload: the payload's), `statement` the `Statement` of a
    QUERY, `ends` 1 if a transaction ends with the event. `attention` lists the events that Python
    must handle. `inner`: the events were inside payloads.
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

    def header(self, event: int) -> EventHeader:
        """Return an event's header."""
        return header_of(self.table, event, int(self.position[event]))

    def parse(
        self, event: int, description: FormatDescriptionEvent | None, kind: type[Parsed]
    ) -> Parsed:
        """Return the event as an object of the class `kind`, which its type code has.

        Raises BinlogError if its bytes are invalid.
        """
        header = self.header(event)
        if description is None:
            raise header.malformed("it is not preceded by a FORMAT_DESCRIPTION")
        body, end = int(self.table[BODY, event]), int(self.table[END, event])
        found = parse(memoryview(self.buffer.data)[body:end], header, description)
        if not isinstance(found, kind):
            raise MalformedError(f"the event is not a {event_name(int(self.table[TYPE, event]))}")
        return found

    def attention_with_context(self) -> Iterator[tuple[int, bool, bool]]:
        """Yield (event, has_rows, is_payload) for the events that Python must handle.

        `has_rows`: TABLE_MAPs or rows events precede it, after the previous listed event.
        `is_payload`: it is a TRANSACTION_PAYLOAD with a valid checksum, not itself in a payload.
        """
        listed = self.attention
        before = np.concatenate(([0], np.cumsum(_IS_ROWS[self.table[TYPE]])))
        starts = np.concatenate(([0], listed[:-1] + 1)) if len(listed) else listed
        has_rows = before[listed] > before[starts]
        is_payload = self.table[TYPE, listed] == EventType.TRANSACTION_PAYLOAD
        is_payload &= (self.table[VALID, listed] != 0) & (not self.inner)
        return zip(listed.tolist(), has_rows.tolist(), is_payload.tolist(), strict=True)
