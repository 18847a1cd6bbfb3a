"""Reporting of a run: log lines, progress and layer reports, with secrets redacted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.observe.progress import Progress
    from pipeline.observe.redaction import redact
    from pipeline.observe.report import LayerReport
    from pipeline.observe.run_log import say

__all__ = [
    "LayerReport",
    "Progress",
    "current_run",
    "interruption",
    "memory",
    "progress",
    "quantities",
    "redact",
    "redaction",
    "report",
    "run_log",
    "say",
    "spark_job_progress",
]

_MODULES = {
    "LayerReport": "pipeline.observe.report",
    "Progress": "pipeline.observe.progress",
    "redact": "pipeline.observe.redaction",
    "say": "pipeline.observe.run_log",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
