"""Benchmarks and soak runs, on workloads that a real server recorded. Nothing here is a test."""
