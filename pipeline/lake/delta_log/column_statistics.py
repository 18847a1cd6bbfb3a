"""Statistics of a file's columns for Delta's log: minimum, maximum and number of nulls.

See Delta's PROTOCOL.md, "Per-file Statistics", and `StatisticsCollection.scala`. Readers skip files
by them: a minimum may be too low and a maximum too high, never the other way round. A column that
lacks them although it has values is lost in delta-rs's pyarrow datasets, which skip the file.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_LONGEST = 64
"""Most characters of a string in the statistics; of a longer one, they have the start."""
_LAST_ASCII, _LAST = "\x7f", "\U0010ffff"
"""Characters that follow the start of a maximum, so that it is greater than all of it."""
_MILLISECOND = timedelta(milliseconds=1)
"""The unit of times in the log."""
_TYPES: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_date32,
    pa.types.is_timestamp,
)
"""Types of columns that have a minimum and a maximum; others have only the number of nulls."""


class ColumnStatistics:
    """The statistics of some columns of a file; structs have none."""

    def __init__(self, schema: pa.Schema, columns: Sequence[str]) -> None:
        # Readers expect an object for a struct, which Delta counts field by field.
        own = [name for name in columns if not pa.types.is_struct(schema.field(name).type)]
        self.columns = tuple(own)
        self._compared = [name for name in own if _is_compared(schema.field(name).type)]
        self._least: dict[str, Any] = {}
        self._greatest: dict[str, Any] = {}
        self._nulls: Counter[str] = Counter(dict.fromkeys(own, 0))

    def add(self, rows: pa.Table) -> None:
        """Add a row group."""
        for name in self.columns:
            self._nulls[name] += rows.column(name).null_count
        for name in self._compared:
            column = rows.column(name)
            if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
                self._least[name] = self._greatest[name] = math.nan  # readers order it differently
                continue
            ends = pc.min_max(column)
            least, greatest = ends["min"].as_py(), ends["max"].as_py()
            if least is not None:
                self._least[name] = min(least, self._least.get(name, least))
                self._greatest[name] = max(greatest, self._greatest.get(name, greatest))

    def values(self) -> dict[str, dict[str, Any]]:
        """Return the statistics in the form of Delta's log."""
        least = {name: _logged(end, up=False) for name, end in self._least.items()}
        greatest = {name: _logged(end, up=True) for name, end in self._greatest.items()}
        known = [name for name in least if None not in (least[name], greatest[name])]
        return {
            "minValues": {name: least[name] for name in known},
            "maxValues": {name: greatest[name] for name in known},
            "nullCount": dict(self._nulls),
        }


def statistics_text(rows: int, statistics: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a file's number of rows and statistics as JSON, as the log has them.

    Decimals are exact numbers without an exponent: delta-rs reads others as NULL.
    """
    parts = [f'"numRecords":{rows}']
    for kind, values in statistics.items():
        entries = (f"{_json(name)}:{_json(value)}" for name, value in values.items())
        parts.append(f'"{kind}":{{{",".join(entries)}}}')
    return f'{{{",".join(parts)},"tightBounds":true}}'


def _json(value: Any) -> str:
    # delta-rs 1.6 loses a bit of an escaped character beyond U+FFFF.
    return (
        format(value, "f") if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
    )


def _is_compared(kind: pa.DataType) -> bool:
    return any(accepts(kind) for accepts in _TYPES)


def _logged(end: Any, *, up: bool) -> int | float | str | Decimal | None:
    """Return a minimum or (`up`) maximum as the log has it; None if it has no such form."""
    if isinstance(end, str):
        return _start(end, up=up)
    if isinstance(end, Decimal):
        return end
    if isinstance(end, datetime):
        return _time(end, up=up)
    if isinstance(end, float):
        return end if math.isfinite(end) else None
    return end.isoformat() if isinstance(end, date) else int(end)


def _start(end: str, *, up: bool) -> str:
    if len(end) <= _LONGEST or (up and end[_LONGEST] == _LAST):
        return end
    start, following = end[:_LONGEST], end[_LONGEST]
    if not up:
        return start
    if following < _LAST_ASCII:
        return start + _LAST_ASCII
    return start + _LAST


def _time(end: datetime, *, up: bool) -> str:
    """Return a time in milliseconds, rounded down for a minimum and up for a maximum. Spark rounds
    both down, and takes that into account when it reads."""
    rest = timedelta(microseconds=end.microsecond % 1000)
    rounded = end - rest
    if up and rest and rounded <= datetime.max.replace(tzinfo=end.tzinfo) - _MILLISECOND:
        rounded += _MILLISECOND
    text = rounded.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{text}Z" if end.tzinfo else text
