"""Compilation of the decoder's kernels, once per machine: by the driver or by the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from decoder.stream import is_warm, warm
from pipeline.lake.child_sessions import is_connected, master_of
from pipeline.lake.lazy_spark import Spark
from pipeline.observe import Progress
from pipeline.observe.memory import keep_freed
from pipeline.spark.ship_code import on_this_machine

OverBatches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for `mapInArrow`."""


def warm_kernels(spark: Spark, progress: Progress) -> None:
    """Compile the kernels if workers run on this machine and it has none; takes up to a minute."""
    if is_connected(spark) or is_warm() or not on_this_machine(master_of(spark)):
        return
    with progress.task("compiling the decoder, once per machine", unit="kernels") as task:
        warm(lambda _: task.advance())


def warm_first(function: OverBatches) -> OverBatches:
    """Return `function` preceded by the compilation of kernels on the worker's machine.

    The driver does not know which machines there are, or will be. If kernels are compiled already,
    this only looks for one file; of several workers on a new machine, one compiles and the others
    wait for it.
    """

    def on_a_warm_machine(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keep_freed()
        warm()
        return function(batches)

    return on_a_warm_machine
