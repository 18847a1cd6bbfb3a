"""Dumps of the supported programs: their tables, rows in chunks, and log position."""

from __future__ import annotations

from pipeline.seed.dumps.formats import open_dump
from pipeline.seed.dumps.given import GivenTable, open_csv, open_parquet
from pipeline.seed.dumps.model import Chunk, Dump, DumpedTable

__all__ = [
    "Chunk",
    "Dump",
    "DumpedTable",
    "GivenTable",
    "open_csv",
    "open_dump",
    "open_parquet",
]
