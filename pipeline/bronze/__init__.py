"""Bronze: the bytes of the input files, as segments that can be decoded independently."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {"read_files": "pipeline.bronze.files"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
