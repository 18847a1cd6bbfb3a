"""Spark: starting a session, its jars, its Java, and where tasks run."""

from __future__ import annotations

__all__ = ["engine", "jars", "session", "spark_submit", "warm_kernels"]
