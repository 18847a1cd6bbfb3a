"""Reporting of a run: log lines, progress and layer reports, with secrets redacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.observe.current_run import binlake_version
    from pipeline.observe.progress import Progress, QuietProgress, terminal_progress
    from pipeline.observe.redaction import redact
    from pipeline.observe.report import LayerReport
    from pipeline.observe.run_log import say, set_up_log

__all__ = [
    "LayerReport",
    "Progress",
    "QuietProgress",
    "binlake_version",
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
    "set_up_log",
    "spark_job_progress",
    "terminal_progress",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.observe.current_run": "binlake_version",
            "pipeline.observe.progress": "Progress QuietProgress terminal_progress",
            "pipeline.observe.redaction": "redact",
            "pipeline.observe.report": "LayerReport",
            "pipeline.observe.run_log": "say set_up_log",
        },
    )
