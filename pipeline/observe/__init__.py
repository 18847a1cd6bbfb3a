"""Reporting of a run: log lines, progress and layer reports, with secrets redacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

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

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.observe.report": "LayerReport",
            "pipeline.observe.progress": "Progress",
            "pipeline.observe.redaction": "redact",
            "pipeline.observe.run_log": "say",
        },
    )
