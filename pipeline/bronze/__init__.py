"""Bronze: the bytes of the input files, as segments that can be decoded independently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.bronze.files import read_files
    from pipeline.bronze.scan import FileScan, Scanner, ScanTask, Successor, judge

__all__ = [
    "FileScan",
    "ScanTask",
    "Scanner",
    "Successor",
    "continuity",
    "executed_gtids",
    "files",
    "job",
    "judge",
    "newest_file",
    "preview",
    "read_files",
    "tables",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.bronze.files": "read_files",
            "pipeline.bronze.scan": "FileScan ScanTask Scanner Successor judge",
        },
    )
