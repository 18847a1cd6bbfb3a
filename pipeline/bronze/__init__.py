"""Bronze: the bytes of the input files, as segments that can be decoded independently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.bronze.files import read_files

__all__ = [
    "continuity",
    "executed_gtids",
    "files",
    "job",
    "newest_file",
    "preview",
    "read_files",
    "scan",
    "tables",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.bronze.files": "read_files"})
