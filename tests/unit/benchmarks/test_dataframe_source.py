"""The `mapInArrow` that the format `binlog` is measured against."""

from __future__ import annotations

import pyarrow as pa

from benchmarks.dataframe_source import decoding


def test_all_input_is_read_so_that_spark_keeps_the_worker() -> None:
    given = iter(pa.table({"id": [1, 2, 3]}).to_batches(max_chunksize=1))
    assert list(decoding([], pa.schema([]))(given)) == []
    assert next(given, None) is None
