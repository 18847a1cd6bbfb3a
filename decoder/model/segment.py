"""The location of a segment in its log, and the preamble that makes it self-contained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """A segment: bytes of whole events, which start at `start_pos` of `file`.

    `ordinal`: the file's number in the log.
    `transaction_pos`: the start of the open transaction, if the segment begins inside one.
    `preamble`: the earlier events needed to decode it: FORMAT_DESCRIPTION and, inside a
    transaction, its GTID, BEGIN and active TABLE_MAPs.
    """

    file: str
    ordinal: int
    start_pos: int = 0
    transaction_pos: int | None = None
    preamble: bytes = b""
