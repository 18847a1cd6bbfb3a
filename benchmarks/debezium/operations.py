"""Numbers of inserted, updated and deleted rows in a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

import decoder


@dataclass(frozen=True, slots=True)
class Operations:
    """Numbers of row changes by kind."""

    inserts: int
    updates: int
    deletes: int

    @property
    def total(self) -> int:
        """The number of all row changes."""
        return self.inserts + self.updates + self.deletes

    def __str__(self) -> str:
        return f"{self.inserts:,} inserts, {self.updates:,} updates, {self.deletes:,} deletes"


def logged(files: Iterable[Path]) -> Operations:
    """Count the row changes in the files with the decoder."""
    found: Counter[str] = Counter()
    for file in files:
        for changes in decoder.read(file.read_bytes()):
            for entry in pc.value_counts(changes.batch.column("__op")).to_pylist():
                found[entry["values"]] += entry["counts"]
    return Operations(found["insert"], found["update"], found["delete"])
