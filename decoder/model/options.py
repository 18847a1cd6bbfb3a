"""Options of decoding: which tables, and how MySQL types are mapped to Arrow types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

TableFilter = Callable[[str, str], bool]
"""True for the schema and name of a table whose changes are wanted."""


@dataclass(frozen=True, slots=True)
class TypeOptions:
    """The mapping of temporal types.

    `time`: TIME as the text that MySQL prints, or as an integer number of microseconds.
    `zero_dates`: zero and impossible dates become null, or (`"string"`) every DATE, DATETIME and
    TIMESTAMP column becomes text.
    """

    time: Literal["text", "micros"] = "text"
    zero_dates: Literal["null", "string"] = "null"
