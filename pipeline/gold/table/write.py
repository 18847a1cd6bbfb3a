"""The name of one write to a gold table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Write:
    """The write `version` of `app` to a gold table: done once, however often it is run."""

    table: str
    app: str
    version: int
