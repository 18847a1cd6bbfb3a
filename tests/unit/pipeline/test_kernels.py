"""A worker's machine is warm before a task decodes."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from pipeline import kernels


def test_a_task_warms_its_machine_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(kernels, "warm", lambda: done.append("warm"))

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        done.append("begun")
        yield from batches

    batch = pa.RecordBatch.from_pydict({"id": [1]})
    assert list(kernels.warm_first(decode)(iter([batch]))) == [batch]
    assert done == ["warm", "begun"]
