"""The rows of `binlake inspect --rows` in the order of the log, as table rows or JSON objects.

The decoder returns the rows of a window table by table. They are merged window by window, so that
memory holds the rows of one window, or of one compressed transaction, which is a single event.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from decoder import SegmentDecoder, TypeOptions
from decoder.framing import WINDOW
from decoder.model import Changes, Faults, Names
from decoder.stream import segment_of

_PLAIN = TypeOptions()
_AT_ONCE = 256
"""Rows of a batch that are converted to Python values at a time."""
ROW_COLUMNS = ("position", "row", "op", "table", "image")
_CHANGE = {
    "__op": "op",
    "__lsn": "lsn",
    "__pos": "position",
    "__row": "row",
    "__committed_at": "committed_at",
    "__gtid": "gtid",
    "__server_id": "server_id",
    "__absent_before": "absent_before",
    "__absent_after": "absent_after",
    "__json_diff": "json_diff",
    "before": "before",
    "after": "after",
}


def rows_in_log_order(data: Any, file: str, names: Names) -> Iterator[dict[str, Any]]:
    """Yield the changes of a log as Python values, in the order in which they are logged.

    Raises BinlogError at the first fault, after the rows of earlier windows and of the whole
    transactions before it in its own window.
    """
    windows = _Windows(data)
    # Trusted: rows need not wait for their transaction's end, which may be far ahead.
    decoder = SegmentDecoder(segment_of(file), _PLAIN, trusted=True, names=names)
    waiting: list[Changes] = []
    given = 0
    for result in decoder.decode(windows):
        if windows.given != given:
            yield from _merged(waiting)
            waiting, given = [], windows.given
        if isinstance(result, Changes):
            waiting.append(result)
        elif isinstance(result, Faults) and decoder.first_fault is not None:
            yield from _merged(waiting)
            raise decoder.first_fault
    yield from _merged(waiting)


class _Windows:
    """A log in windows; `given` counts those read.

    When the decoder reads the next window, it has returned all rows of the earlier ones, except
    those of an event that continues.
    """

    def __init__(self, data: Any) -> None:
        self.given = 0
        self._data = memoryview(data).cast("B")

    def __iter__(self) -> Iterator[memoryview]:
        for start in range(0, len(self._data), WINDOW):
            self.given += 1
            yield self._data[start : start + WINDOW]


def _merged(found: Sequence[Changes]) -> Iterator[dict[str, Any]]:
    """Merge the rows of several batches, each in the order of the log."""
    return heapq.merge(
        *map(row_objects, found), key=lambda row: (row["lsn"], row["position"], row["row"])
    )


def row_objects(changes: Changes) -> Iterator[dict[str, Any]]:
    """Yield the changes of a batch as Python values, in the order of the log."""
    for start in range(0, changes.batch.num_rows, _AT_ONCE):
        for row in changes.batch.slice(start, _AT_ONCE).to_pylist():
            change = {name: row[column] for column, name in _CHANGE.items()}
            if change["json_diff"] is not None:
                change["json_diff"] = dict(change["json_diff"])
            yield {"schema": changes.schema, "table": changes.table, **change}


def row_object(row: dict[str, Any], file: str) -> dict[str, Any]:
    """Return the change with its file, for JSON."""
    return {"file": file, **row}


def row_cells(row: dict[str, Any]) -> Sequence[str]:
    """Return the change as a row of the table; the images of an update are on two lines."""
    images = [to_json(row[image]) for image in ("before", "after") if row[image] is not None]
    return (
        str(row["position"]),
        str(row["row"]),
        row["op"],
        f"{row['schema']}.{row['table']}",
        "\n→ ".join(images),
    )


def to_json(value: Any) -> str:
    """Return JSON on one line: times in ISO 8601, decimals as text, bytes as hex."""
    return json.dumps(_finite(value), ensure_ascii=False, default=_text)


def _finite(value: Any) -> Any:
    """Return the value with NaN and infinities (of a VECTOR), which JSON lacks, as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
