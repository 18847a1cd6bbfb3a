"""Equal rows are in the same chunk on both sides, and chunks that differ are found."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from pipeline.verify.canonical import MODULUS, CanonicalText, row_hash
from pipeline.verify.chunks import (
    CHUNK_ROWS,
    FEW,
    FEWEST,
    MOST,
    WHOLE,
    Chunking,
    ChunkSum,
    ChunkSums,
    chunk_count,
    differing,
    table_sum,
)

Row = tuple[CanonicalText, CanonicalText]
rows_of_text = st.lists(st.tuples(st.none() | st.text(max_size=5), st.none() | st.text(max_size=5)))


def summed(rows: list[Row], chunking: Chunking) -> dict[int, ChunkSum]:
    sums = ChunkSums()
    for row in rows:
        digest = row_hash(row)
        sums.add(chunking.chunk(row, digest), digest)
    return dict(sums)


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        (0, 16),
        (5_000, 16),
        (10_000, FEW),
        (99_999, FEW),
        (100_000, FEWEST),
        (FEWEST * CHUNK_ROWS, FEWEST),
        (FEWEST * CHUNK_ROWS + CHUNK_ROWS, 2 * FEWEST),
        (10**13, MOST),
    ],
)
def test_the_number_of_chunks_grows_with_the_table(rows: int, count: int) -> None:
    assert chunk_count(rows) == count


def test_keys_are_distributed_evenly() -> None:
    chunking = Chunking(16, (0,))
    found = Counter(chunking.chunk((str(n), None), b"") for n in range(16_000))
    assert set(found) == set(range(16))
    assert max(found.values()) < 1.5 * min(found.values())


@given(rows_of_text, st.sampled_from([WHOLE, Chunking(7, (0,)), Chunking(7)]), st.data())
def test_the_order_of_rows_does_not_matter(
    rows: list[Row], chunking: Chunking, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(rows))
    found = summed(rows, chunking)
    assert found == summed(shuffled, chunking)
    total = sum(int.from_bytes(row_hash(row), "big") for row in rows) % MODULUS
    assert table_sum(found) == ChunkSum(len(rows), total)


@given(rows_of_text, rows_of_text)
def test_exactly_the_chunks_with_different_rows_differ(some: list[Row], others: list[Row]) -> None:
    for chunking in (Chunking(5, (0,)), Chunking(5, (1, 0)), Chunking(5)):
        apart = Counter(some)
        apart.subtract(others)
        wanted = {chunking.chunk(row, row_hash(row)) for row, n in apart.items() if n}
        assert set(differing(summed(some, chunking), summed(others, chunking))) == wanted


def test_a_row_with_another_value_stays_in_the_chunk_of_its_key() -> None:
    chunking = Chunking(1000, (1,))
    places = {chunking.chunk((v, "é"), row_hash((v, "é"))) for v in ("1", "2", None)}
    assert len(places) == 1
    keyless = Chunking(1000)
    assert len({keyless.chunk((v, "é"), row_hash((v, "é"))) for v in ("1", "2", None)}) == 3


def test_partial_sums_are_added() -> None:
    sums = ChunkSums()
    sums.join(3, 2, MODULUS - 1)
    sums.join(3, 1, 5)
    assert dict(sums) == {3: ChunkSum(3, 4)}
