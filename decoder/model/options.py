"""Choices that conf leaves to the user about how MySQL types become Arrow types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TypeOptions:
    """`time`: TIME as MySQL prints it, or as microseconds; `zero_dates`: null, or kept as text.

    With `zero_dates="string"` every DATE, DATETIME and TIMESTAMP column is text.
    """

    time: Literal["text", "micros"] = "text"
    zero_dates: Literal["null", "string"] = "null"
