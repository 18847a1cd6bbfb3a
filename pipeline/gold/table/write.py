"""Identity of one write to a gold table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Write:
    """Transaction `version` of `app` on a gold table: committed once, however often it is run."""

    table: str
    app: str
    version: int
