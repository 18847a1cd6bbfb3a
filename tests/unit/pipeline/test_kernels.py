"""A worker's machine is warm before a task decodes."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pipeline import kernels
from pipeline.kernels import warm_kernels
from pipeline.progress import QuietProgress
from tests.support.untold_settings import Untold


def test_a_task_warms_its_machine_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(kernels, "warm", lambda: done.append("warm"))

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        done.append("begun")
        yield from batches

    batch = pa.RecordBatch.from_pydict({"id": [1]})
    assert list(kernels.warm_first(decode)(iter([batch]))) == [batch]
    assert done == ["warm", "begun"]


@pytest.mark.parametrize("connected", [False, True])
def test_kernels_are_left_to_workers_that_are_elsewhere(
    monkeypatch: pytest.MonkeyPatch, *, connected: bool
) -> None:
    """Nor is a server asked where it runs: serverless compute does not tell."""
    monkeypatch.setattr(kernels, "is_warm", lambda: False)
    monkeypatch.setattr(kernels, "warm", lambda *_: pytest.fail("compiled"))
    conf = Untold("CONFIG_NOT_AVAILABLE")
    spark: Any = SimpleNamespace(conf=conf, **({} if connected else {"_jsparkSession": None}))
    warm_kernels(spark, QuietProgress())
