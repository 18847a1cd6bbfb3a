"""The decoder's kernels are compiled once per machine: by the driver where it is the only one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from decoder.stream.precompile import is_warm, warm
from pipeline.lake.child_sessions import is_connected, master_of
from pipeline.lake.starting import Spark
from pipeline.observe import Progress
from pipeline.observe.memory import keep_freed
from pipeline.spark.ship_code import on_this_machine

Batches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for `mapInArrow`."""


def warm_kernels(spark: Spark, progress: Progress) -> None:
    """Compile them, if the workers are on this machine and nobody has: some 20 seconds, shown."""
    if is_connected(spark) or is_warm() or not on_this_machine(master_of(spark)):
        return
    with progress.task("compile the decoder for this machine, once", unit="kernels") as task:
        warm(lambda _: task.advance())


def warm_first(function: Batches) -> Batches:
    """`function`, before which the worker sees to its own machine.

    Nobody can tell from the driver which machines there are, or will be. Where kernels are compiled
    already, this looks for one file; of workers that come to a new machine at the same time, one
    compiles and the others wait for it.
    """

    def on_a_warm_machine(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keep_freed()
        warm()
        return function(batches)

    return on_a_warm_machine
