"""Numbers for rows in Arrow, by which they are compared: equal rows have the same number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def row_numbers(tables: Sequence[pa.Table], *, signed_zeros: bool = False) -> list[Any]:
    """Return the numbers of each table's rows, from 0 on, as an array of int64 each.

    The tables have the same columns. NULL equals NULL; 0.0 equals -0.0 unless `signed_zeros`.
    """
    numbers = np.zeros(sum(map(len, tables)), np.int64)
    for name in tables[0].column_names:
        column, count = _numbered([table[name] for table in tables], signed_zeros)
        # Numbered again after each column, so that the product does not overflow.
        numbers = np.unique(numbers * count + column, return_inverse=True)[1].reshape(-1)
    ends = np.cumsum([len(table) for table in tables])
    return np.split(numbers.astype(np.int64), ends[:-1])


def _numbered(columns: Sequence[pa.ChunkedArray], signed_zeros: bool) -> tuple[Any, int]:
    """Return the number of each value, and an upper limit for these numbers."""
    whole = pa.chunked_array(
        [chunk for column in columns for chunk in column.chunks], columns[0].type
    ).combine_chunks()
    if pa.types.is_nested(whole.type):
        places: dict[str, int] = {}
        found = [places.setdefault(repr(value), len(places)) for value in whole.to_pylist()]
        return np.asarray(found, np.int64), len(places) + 1
    if pa.types.is_floating(whole.type):
        bits = pa.int64() if whole.type == pa.float64() else pa.int32()
        whole = whole.view(bits) if signed_zeros else pc.add(whole, pa.scalar(0, whole.type))
    encoded = whole.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices, np.int64), len(encoded.dictionary) + 1
