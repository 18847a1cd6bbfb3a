"""Spark: start of the session, its jars and JDK, and the engines that run tasks."""

from __future__ import annotations

__all__ = ["engine", "jars", "session", "ship_code", "spark_submit", "warm_kernels"]
