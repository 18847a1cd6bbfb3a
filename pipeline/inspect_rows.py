"""How `binlake inspect --rows` writes one change: as a table's cells, or as a JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

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


def row_objects(changes: Any) -> Iterator[dict[str, Any]]:
    """The changes of a `decoder.Changes`, as Python values, in the order they are logged."""
    for row in changes.batch.to_pylist():
        change = {name: row[column] for column, name in _CHANGE.items()}
        if change["json_diff"] is not None:
            change["json_diff"] = dict(change["json_diff"])
        yield {"schema": changes.schema, "table": changes.table, **change}


def row_object(row: dict[str, Any], file: str) -> dict[str, Any]:
    """The change with its file."""
    return {"file": file, **row}


def row_cells(row: dict[str, Any]) -> Sequence[str]:
    """The change in a table's columns: the image of an insert or delete, both of an update."""
    images = [to_json(row[image]) for image in ("before", "after") if row[image] is not None]
    return (
        str(row["position"]),
        str(row["row"]),
        row["op"],
        f"{row['schema']}.{row['table']}",
        "\n→ ".join(images),
    )


def to_json(value: Any) -> str:
    """JSON on one line: times in ISO format, decimals as text, bytes in hex."""
    return json.dumps(_finite(value), ensure_ascii=False, default=_text)


def _finite(value: Any) -> Any:
    """NaN and infinities, which JSON lacks, as text (a VECTOR can hold them)."""
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
    return str(value)
