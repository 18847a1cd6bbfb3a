"""Are binlog files in gold before Debezium has captured the same load from the server?

Run: `make bench-debezium`, or `python -m benchmarks.debezium`. A real server sends a recorded load
to Debezium's embedded engine, which counts it; Binlake takes the same server's files to gold. Both
in one run, in rounds by turns, each in processes of its own, and each checked for completeness.
"""
