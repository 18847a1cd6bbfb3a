"""Reports of a run to other systems: metrics for Prometheus, lineage, and a webhook."""

from __future__ import annotations

from pipeline.run.monitoring.monitor import Monitor
from pipeline.run.monitoring.problems import SILVER_FAULT

__all__ = ["SILVER_FAULT", "Monitor"]
