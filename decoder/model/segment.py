"""What a segment is to the decoder: where its bytes are, and what stands for those before them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """Where a segment's bytes are: from `start_pos` of `file`, the log's file number `ordinal`.

    `transaction_pos` is where the transaction starts that it begins in the middle of; `preamble`
    holds the events that make it self-contained: FORMAT_DESCRIPTION and, inside of a transaction,
    its GTID, BEGIN and active TABLE_MAPs.
    """

    file: str
    ordinal: int
    start_pos: int = 0
    transaction_pos: int | None = None
    preamble: bytes = b""
