"""Dumps, by whichever program they were made: tables, their rows in chunks, and of which place."""

from __future__ import annotations

from pipeline.seed.dumps.model import Chunk, Dump, DumpedTable

__all__ = ["Chunk", "Dump", "DumpedTable"]
