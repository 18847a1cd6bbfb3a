"""Age Delta tables by some days: in their files and logs, which is what Delta goes by."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def age(spark: SparkSession, root: Path, by: timedelta) -> None:
    """Age every Delta table below `root`; none may have a checkpoint yet."""
    for log in root.rglob("_delta_log"):
        assert not list(log.glob("*.parquet")), f"{log} has a checkpoint"
        for commit in log.glob("*.json"):
            actions = map(json.loads, commit.read_text().splitlines())
            older = [json.dumps(_older(action, by)) for action in actions]
            commit.write_text("\n".join(older) + "\n")
        for checksum in [*log.glob(".*.crc"), *log.glob("*.crc")]:
            checksum.unlink(missing_ok=True)
    for file in [*root.rglob("*"), root]:
        stat = file.stat()
        os.utime(file, (stat.st_atime, stat.st_mtime - by.total_seconds()))
    jvm: Any = spark.sparkContext._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def _older(action: dict[str, Any], by: timedelta) -> dict[str, Any]:
    millis = int(by.total_seconds() * 1000)
    times = ("timestamp", "deletionTimestamp", "modificationTime", "createdTime")
    return {
        kind: {
            name: value - millis if name in times and value else value
            for name, value in fields.items()
        }
        for kind, fields in action.items()
    }
