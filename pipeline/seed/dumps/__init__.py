"""Dumps of the supported programs: their tables, rows in chunks, and log position."""

from __future__ import annotations

from pipeline.seed.dumps.given import GivenTable, open_csv, open_parquet
from pipeline.seed.dumps.model import Chunk, Dump, DumpedTable
from pipeline.seed.dumps.open import open_dump

__all__ = [
    "Chunk",
    "Dump",
    "DumpedTable",
    "GivenTable",
    "open_csv",
    "open_dump",
    "open_parquet",
]
