"""Parquet files of the lake's tables: written, scanned, skipped, rewritten, compacted."""

from __future__ import annotations

__all__ = ["compaction", "data_files", "rewriting", "scanning", "skipping", "target_writer"]
