from __future__ import annotations

import pyarrow as pa

from pipeline.silver.blobs import Packer, unpack

SCHEMA = pa.schema([("n", pa.int64())])


def batch(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], schema=SCHEMA)


def values(blobs: list[pa.RecordBatch]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for blob in blobs:
        target = blob.column("target")[0].as_py()
        for part in unpack(iter([blob])):
            found.setdefault(target, []).extend(part.column("n").to_pylist())
    return found


def test_batches_come_back_by_target_and_in_order() -> None:
    packer = Packer()
    closed = [*packer.add("a", batch(1)), *packer.add("b", batch(2)), *packer.add("a", batch(3, 4))]
    assert closed == []
    blobs = list(packer.finish())
    assert values(blobs) == {"a": [1, 3, 4], "b": [2]}
    assert [blob.column("rows")[0].as_py() for blob in blobs] == [3, 1]
    assert list(packer.finish()) == []


def test_a_blob_closes_when_it_is_large_enough() -> None:
    packer = Packer(blob_bytes=16)
    assert values(list(packer.add("a", batch(1)))) == {}
    assert values(list(packer.add("a", batch(2)))) == {"a": [1, 2]}
    assert list(packer.finish()) == []


def test_the_largest_closes_when_all_together_are_too_large() -> None:
    packer = Packer(blob_bytes=1000, open_bytes=40)
    assert list(packer.add("a", batch(1))) == []
    assert list(packer.add("b", batch(2, 3, 4))) == []
    assert values(list(packer.add("c", batch(5, 6)))) == {"b": [2, 3, 4]}
    assert values(list(packer.finish())) == {"a": [1], "c": [5, 6]}


def test_a_slice_is_packed_without_the_rest_of_its_buffers() -> None:
    packer = Packer()
    list(packer.add("a", batch(*range(100_000)).slice(5, 2)))
    (blob,) = packer.finish()
    assert blob.column("blob")[0].as_buffer().size < 1000
    assert values([blob]) == {"a": [5, 6]}


def test_an_empty_batch_is_nothing() -> None:
    packer = Packer()
    assert list(packer.add("a", batch())) == []
    assert list(packer.finish()) == []
