"""What a decoder found in a file, and how long it took: what every program here reports."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Counts:
    """Events, row images (an update has two) and cells (an image's columns), NULLs included."""

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
    """A program failed or reported nonsense; the message names it and what it said."""


def parse_passes(printed: str) -> list[Pass]:
    """A line of JSON for each pass, as the programs print it. Raises ProgramError."""
    try:
        passes = [_pass(json.loads(line)) for line in printed.splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise ProgramError(f"not a line of counts: {error!r}") from error
    if not passes:
        raise ProgramError("it reported no pass")
    if len({done.counts for done in passes}) > 1:
        raise ProgramError(f"its passes count differently: {[str(p.counts) for p in passes]}")
    return passes


def _pass(line: dict[str, Any]) -> Pass:
    counts = Counts(*(int(line[key]) for key in ("events", "images", "cells")))
    return Pass(counts, float(line["seconds"]))
