"""The name of one step on a gold table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """The step `version` of `app` on a gold table: done once, however often it is run."""

    table: str
    app: str
    version: int
