"""Measure Spark's format `binlog` against `mapInArrow` with the same batches.

Run: `make bench-source`, or `python -m benchmarks.dataframe_source [ROUNDS [SCALE]]` (1/8: a part
of the workload). Both read the changes of one table of the recorded workload on one core, in
workers that have loaded all kernels, and drop them in Java. `load` is what the format does before:
it reads the files once for definitions, statements and XA transactions.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from rich.console import Console

from benchmarks.decode import timed
from benchmarks.workload import SCHEMA, WHOLE, workload
from decoder import SegmentDecoder, TypeOptions
from decoder.model.results import Changes
from decoder.stream.segment_decoder import segment_of
from pipeline.settings import Settings
from pipeline.source.logs.storage import opened, read_windows
from pipeline.spark.session import session

TABLE = "readings"
ROUNDS = 5
WARMING = 2
"""Rounds before those that count: workers load their kernels, and Java compiles."""
MOST = 1.1
"""The most times of `mapInArrow` that the format may take."""


def main() -> None:
    """Read the table both ways by turns; print the medians. Exits with 1 above `MOST`."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    files = workload(Fraction(sys.argv[2]) if len(sys.argv) > 2 else WHOLE).binlogs
    spark = session(Settings.load(None, spark={"master": "local[1]"}), "benchmark")
    source = load(spark, files[0].parent)
    mapped = map_in_arrow(spark, files, source)
    changes = [frame.count() for frame in (source, mapped)]
    assert changes[0] == changes[1]
    both = [
        (timed(lambda: consume(source)), timed(lambda: consume(mapped)))
        for _ in range(WARMING + rounds)
    ]
    took = both[WARMING:]
    loading = median(timed(lambda: load(spark, files[0].parent)) for _ in range(rounds))
    ours, theirs = map(median, zip(*took, strict=True))
    Console().print(
        f"{changes[0]:,} changes of {TABLE}: format binlog {ours:.2f} s, mapInArrow {theirs:.2f} s:"
        f" {ours / theirs:.2f} times; load() before {loading:.2f} s"
    )
    sys.exit(ours / theirs > MOST)


def load(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the DataFrame of the format."""
    reader = spark.read.format("binlog").option("table", f"{SCHEMA}.{TABLE}")
    return reader.load(str(folder))


def map_in_arrow(spark: SparkSession, files: Iterable[Path], like: DataFrame) -> DataFrame:
    """Return a DataFrame of the same rows, decoded by a function."""
    schema = to_arrow_schema(like.schema, timezone="UTC")
    decode = decoding([str(file) for file in files], schema)
    return spark.range(0, 1, 1, 1).mapInArrow(decode, like.schema)


def decoding(
    paths: Sequence[str], schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that yields the decoder's batches of the files, as the format does."""

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # A worker that leaves input unread ends with its task, and the next one loads all kernels
        # again, which took three times as long as decoding.
        deque(batches, maxlen=0)
        for path in paths:
            decoder = SegmentDecoder(
                segment_of(path),
                TypeOptions(),
                wanted=lambda schema, table: (schema, table) == (SCHEMA, TABLE),
            )
            with opened(path) as stream:
                for result in decoder.decode(read_windows(stream, None)):
                    if isinstance(result, Changes):
                        yield pa.RecordBatch.from_arrays(result.batch.columns, schema=schema)

    return decode


def consume(frame: DataFrame) -> None:
    """Read all rows, and drop them in Java."""
    frame.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    main()
