"""Settings with which tests start Spark: they use it so briefly that its start costs most."""

from __future__ import annotations

from pipeline.spark.session import QUICK

JAVA = f"{QUICK} -XX:+UseSerialGC"
"""Java's options in processes of a minute: no optimizing compiler, one thread that collects."""
LOCAL_FILES = {
    # By default, Hadoop writes a checksum file for each file and starts a chmod for both.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}
