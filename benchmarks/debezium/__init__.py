"""Compare Binlake's time from files to gold with Debezium's time to capture the same load.

Run: `make bench-debezium`, or `python -m benchmarks.debezium`. A real server sends a recorded load
to Debezium's embedded engine, which counts it; Binlake replicates the same server's files to gold.
They run in turn, in rounds, in separate processes, and both results are checked for completeness.
"""
