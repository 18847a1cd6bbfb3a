"""Transactions that were cut in the middle: their parts put together."""

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
"""What only one part of a transaction tells, or all tell alike."""
_SPANS = ("rolled_back", "rolled_back_rows", "cascades_logged_rows")
UNKNOWN = "unknown"
"""Of a transaction in parts, when it is not known where its foreign keys did what is not logged."""


def whole(parts: pa.Table) -> pa.Table:
    """Transactions that were cut, as one row each."""
    rows = [{**row, "rows": dict(row["rows"] or ())} for row in parts.to_pylist()]
    return pa.Table.from_pylist(merge_parts(rows), schema=STAGED_TRANSACTIONS)


def merge_parts(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each LSN: counts add up, the rest is what the first part that knows it says."""
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
    """Each part's spans, as far as the part goes: the last of one has no end of its own."""
    behind = [part["start_pos"] for part in parts[1:]]
    return [
        {**piece, "end": min([piece["end"], *behind[n : n + 1]])}
        for n, part in enumerate(parts)
        for piece in part["cascades_logged"] or ()
    ]


def _cascades(parts: list[Mapping[str, Any]]) -> str | None:
    """What the parts tell of foreign keys; only spans of parts that are mixed are known."""
    told = {part["cascades"] for part in parts} - {None}
    if len(told) < 2:
        return next(iter(told), None)
    return "mixed" if told == {"mixed", "unlogged"} else UNKNOWN


def _first_known(parts: list[Mapping[str, Any]], name: str) -> int | str | datetime | None:
    known: int | str | datetime | None
    for part in parts:
        known = part[name]
        if known is not None:
            return known
    return None
