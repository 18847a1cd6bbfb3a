"""The counts and seconds that every decoder's program reports."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of events, row images (an update has two) and cells (of an image, with NULLs)."""

    events: int
    images: int
    cells: int

    def __str__(self) -> str:
        return f"{self.events:,} events, {self.images:,} images, {self.cells:,} cells"


@dataclass(frozen=True, slots=True)
class Pass:
    """One decoding of a whole file."""

    counts: Counts
    seconds: float


class ProgramError(Exception):
    """A program failed or printed an invalid report; the message has its name and output."""


def parse_passes(printed: str) -> list[Pass]:
    """Parse a program's output, a line of JSON per pass. Raises ProgramError."""
    try:
        passes = [_pass(json.loads(line)) for line in printed.splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise ProgramError(f"it printed a line that is not a report: {error!r}") from error
    if not passes:
        raise ProgramError("it reported no pass")
    if len({done.counts for done in passes}) > 1:
        raise ProgramError(f"the counts of its passes differ: {[str(p.counts) for p in passes]}")
    return passes


def _pass(line: dict[str, Any]) -> Pass:
    counts = Counts(*(int(line[key]) for key in ("events", "images", "cells")))
    return Pass(counts, float(line["seconds"]))
