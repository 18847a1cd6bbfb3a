"""Binlake's pipeline: binlog files → bronze → silver → gold, each a set of Delta tables."""
