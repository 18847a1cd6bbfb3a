"""Parquet files of a lake's tables: writing, scanning, skipping, rewriting and compaction."""

from __future__ import annotations

__all__ = ["compaction", "data_files", "rewriting", "scanning", "skipping", "target_writer"]
