"""Kernels are compiled on a worker's machine before a task decodes."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pipeline.observe.progress import QuietProgress
from pipeline.spark import warm_kernels as kernels
from pipeline.spark.warm_kernels import warm_kernels
from tests.support.spark.hidden_settings import HiddenSettings


def test_a_task_compiles_kernels_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(kernels, "warm", lambda: done.append("warm"))

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        done.append("begun")
        yield from batches

    batch = pa.RecordBatch.from_pydict({"id": [1]})
    assert list(kernels.warm_first(decode)(iter([batch]))) == [batch]
    assert done == ["warm", "begun"]


@pytest.mark.parametrize(
    ("connected", "conf"),
    [
        (False, HiddenSettings("CONFIG_NOT_AVAILABLE")),
        (False, SimpleNamespace(get=lambda *_: "spark://master:7077")),
        # A server's `local` is its own machine, not this one.
        (True, SimpleNamespace(get=lambda *_: "local[2]")),
    ],
    ids=["serverless", "a cluster", "a server"],
)
def test_kernels_are_left_to_workers_that_are_elsewhere(
    monkeypatch: pytest.MonkeyPatch, connected: bool, conf: Any
) -> None:
    monkeypatch.setattr(kernels, "is_warm", lambda: False)
    monkeypatch.setattr(kernels, "warm", lambda *_: pytest.fail("compiled"))
    spark: Any = SimpleNamespace(conf=conf, **({} if connected else {"_jsparkSession": None}))
    warm_kernels(spark, QuietProgress())
