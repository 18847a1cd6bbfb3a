"""The sums of a gold table's chunks do not depend on its number of partitions."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipeline.verify import gold_table
from pipeline.verify.canonical import INTEGER, row_hash
from pipeline.verify.chunks import FEW, Chunking, ChunkSums
from pipeline.verify.gold_table import GoldColumn, chunk_sums, sums

ROWS, PIECES = 300, 12


@pytest.mark.parametrize("parts", [4, 2 * FEW])
def test_collected_sums_are_limited_and_correct(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    monkeypatch.setattr(gold_table, "COLLECTED", 12)
    chunking = Chunking(parts, (0,))
    rows = spark.range(0, ROWS, 1, PIECES)
    found = sums(rows, [GoldColumn("id", INTEGER)], chunking)
    wanted = ChunkSums()
    for n in range(ROWS):
        digest = row_hash([str(n)])
        wanted.add(chunking.chunk([str(n)], digest), digest)
    # Few chunks: three partitions instead of twelve, with four sums each. Many: one sum a chunk.
    assert found.count() == (12 if parts == 4 else len(dict(wanted)))
    assert chunk_sums(found) == dict(wanted)
