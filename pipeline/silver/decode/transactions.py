"""Merge the parts of transactions that span segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from pipeline.silver.decode.decode import STAGED_TRANSACTIONS

_FIRST_KNOWN = (
    *("file", "gtid", "xid", "server_id", "committed_at", "original_committed_at"),
    *("end_pos", "commit_lsn", "xa", "xa_end", "seen_before"),
)
"""Fields that only one part of a transaction has, or that are the same in all."""
_SPANS = ("rolled_back", "rolled_back_rows", "cascades_logged_rows")
UNKNOWN = "unknown"
"""`cascades` of a transaction in parts, if it is unknown in which parts cascades are unlogged."""


def whole(parts: pa.Table) -> pa.Table:
    """Return transactions in parts as one row each."""
    rows = [{**row, "rows": dict(row["rows"] or ())} for row in parts.to_pylist()]
    return pa.Table.from_pylist(merge_parts(rows), schema=STAGED_TRANSACTIONS)


def merge_parts(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per LSN: counts are summed, other fields are the first known value."""
    by_lsn: dict[int, list[Mapping[str, Any]]] = {}
    for part in sorted(parts, key=lambda part: (part["__lsn"], part["start_pos"])):
        by_lsn.setdefault(part["__lsn"], []).append(part)
    return [_merged(same) for same in by_lsn.values()]


def _merged(parts: list[Mapping[str, Any]]) -> dict[str, Any]:
    rows: Counter[str] = Counter()
    for part in parts:
        rows.update(part["rows"])
    return {
        "__lsn": parts[0]["__lsn"],
        "start_pos": parts[0]["start_pos"],
        "rows": list(rows.items()),
        "bytes": sum(part["bytes"] for part in parts),
        **{
            name: [piece for part in parts for piece in part[name] or ()] or None for name in _SPANS
        },
        "cascades_logged": _logged_spans(parts) or None,
        "cascades": _cascades(parts),
        **{name: _first_known(parts, name) for name in _FIRST_KNOWN},
    }


def _logged_spans(parts: list[Mapping[str, Any]]) -> list[dict[str, int]]:
    """Return each part's spans, clipped to the part: its last span has no end of its own."""
    next_starts = [part["start_pos"] for part in parts[1:]]
    return [
        {**piece, "end": min([piece["end"], *next_starts[n : n + 1]])}
        for n, part in enumerate(parts)
        for piece in part["cascades_logged"] or ()
    ]


def _cascades(parts: list[Mapping[str, Any]]) -> str | None:
    """Merge the parts' `cascades`; spans are only known for parts that are mixed."""
    found = {part["cascades"] for part in parts} - {None}
    if len(found) < 2:
        return next(iter(found), None)
    return "mixed" if found == {"mixed", "unlogged"} else UNKNOWN


def _first_known(parts: list[Mapping[str, Any]], name: str) -> int | str | datetime | None:
    known: int | str | datetime | None
    for part in parts:
        known = part[name]
        if known is not None:
            return known
    return None
