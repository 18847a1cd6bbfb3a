"""Spans of a transaction's rows, as stored in the table of transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from decoder.model import schemas

_SPANS = schemas.TRANSACTIONS.field("rolled_back").type


@dataclass(frozen=True, slots=True)
class RowSpan:
    """Rows whose events have file positions, or `inside` a payload whose numbers are, in
    [`start`, `end`)."""

    start: int
    end: int
    inside: bool = False


def spans_by_place(length: int, spans: Mapping[int, Sequence[RowSpan]]) -> list[pa.Array]:
    """Return two columns of `length` transactions: spans by position, and spans by row number."""
    by_position = {index: [s for s in some if not s.inside] for index, some in spans.items()}
    by_row = {index: [s for s in some if s.inside] for index, some in spans.items()}
    return [_column(length, by_position), _column(length, by_row)]


def _column(length: int, spans: Mapping[int, Sequence[RowSpan]]) -> pa.Array:
    """Return a list of spans per transaction; null for those without."""
    if not any(spans.values()):
        return pa.nulls(length, _SPANS)
    values: list[list[dict[str, int]] | None] = [None] * length
    for index, some in spans.items():
        values[index] = [{"start": span.start, "end": span.end} for span in some] or None
    return pa.array(values, _SPANS)
