"""Settings for the mapping of MySQL types to Arrow types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TypeOptions:
    """How temporal types are mapped.

    `time`: TIME as the text that MySQL prints, or as an integer number of microseconds.
    `zero_dates`: zero and impossible dates become null, or (`"string"`) every DATE, DATETIME and
    TIMESTAMP column becomes text.
    """

    time: Literal["text", "micros"] = "text"
    zero_dates: Literal["null", "string"] = "null"
