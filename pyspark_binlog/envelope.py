"""Changes of any table in one form: the table's name, and the images as JSON.

Values are written as `binlake inspect --json` does: decimals, times and binary values (as hex) are
text. Values that need no escapes in JSON are written by Arrow, column by column.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from decoder import schemas
from decoder.model import Changes
from pyspark_binlog.columns import decimal_text

_ESCAPED = r'["\\\x00-\x1f]'
"""Characters that must be escaped in JSON text."""
_INSTANT, _WALL_CLOCK = "%Y-%m-%dT%H:%M:%S+00:00", "%Y-%m-%dT%H:%M:%S"


def enveloped(changes: Changes, schema: pa.Schema) -> pa.RecordBatch:
    """Return the changes with the columns of `pyspark_binlog.columns.envelope_schema`."""
    batch = changes.batch
    count = batch.num_rows
    columns = {
        **{field.name: batch.column(field.name) for field in schemas.CHANGE_FIELDS},
        "__schema": pa.repeat(changes.schema, count),
        "__table": pa.repeat(changes.table, count),
    }
    for image in set(schema.names) - columns.keys():
        columns[image] = image_json(batch.column(image))
    cells = [_as(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(cells, schema=schema)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


def image_json(image: pa.StructArray) -> pa.Array:
    """Return the images as JSON objects; null for those that are null."""
    pieces: list[Any] = []
    for number, field in enumerate(image.type):
        separator = ", " if number else ""
        name = f"{separator}{json.dumps(field.name, ensure_ascii=False)}: "
        pieces += [name, pc.fill_null(_json(image.field(number)), "null")]
    text = pc.binary_join_element_wise("{", *pieces, "}", "")
    return pc.if_else(image.is_valid(), text, pa.scalar(None, pa.string()))


def _json(column: pa.Array) -> pa.Array:
    """Return each value as JSON; null for NULL."""
    write = next((write for has, write in _WRITERS if has(column.type)), _each)
    return write(column)


def _text(column: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(column, _ESCAPED)).as_py():
        return _each(column)
    return _quoted(column)


def _quoted(column: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', column, '"', "")


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(pa.string())


def _time(column: pa.Array) -> pa.Array:
    return _quoted(pc.strftime(column, _INSTANT if column.type.tz else _WALL_CLOCK))


def _each(column: pa.Array) -> pa.Array:
    return pa.array(
        [
            None if value is None else json.dumps(_finite(value), ensure_ascii=False, default=_hex)
            for value in column.to_pylist()
        ],
        pa.string(),
    )


def _finite(value: Any) -> Any:
    """Return the value with NaN and infinities, which JSON lacks, as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return list(map(_finite, value)) if isinstance(value, list) else value


def _hex(value: Any) -> str:
    return bytes(value).hex()


_WRITERS: Sequence[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]]] = (
    (kinds.is_integer, _plain),
    (kinds.is_boolean, _plain),
    (kinds.is_string, _text),
    (kinds.is_decimal, lambda column: _quoted(decimal_text(column))),
    (kinds.is_date, lambda column: _quoted(_plain(column))),
    (kinds.is_timestamp, _time),
)
"""Writers by type; the others' values are written one by one."""
