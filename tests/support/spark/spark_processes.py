"""Distribution of test files: one of the suite's processes never starts Spark.

Each process with Spark has a Java of its own, which spends its first minutes loading and compiling
the same classes. So the first process takes only files without Spark, and the others take those
after the files that need it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

_NEEDS_SPARK = re.compile(r"\bspark: SparkSession\b|\brun: Run\b|\"spark\"")


def files_by_spark(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Return the scheduler of `--dist loadfile`, with files chosen by the process that is free."""
    scheduling = LoadFileScheduling(config, log)
    assign, reschedule = scheduling._assign_work_unit, scheduling._reschedule

    def starts_spark(node: Any) -> bool:
        return bool(scheduling.numnodes == 1 or node.gateway.id != "gw0")

    def assign_fitting(node: Any) -> None:
        files = scheduling.workqueue
        wanted = starts_spark(node)
        fitting = (file for file in files if needs_spark(config.rootpath / file) == wanted)
        first = next(fitting, next(iter(files)))
        files.move_to_end(first, last=False)
        assign(node)

    def reschedule_fitting(node: Any) -> None:
        files = scheduling.workqueue
        if starts_spark(node) or not all(needs_spark(config.rootpath / file) for file in files):
            reschedule(node)
        elif not node.shutting_down:
            node.shutdown()

    scheduling._assign_work_unit = assign_fitting
    scheduling._reschedule = reschedule_fitting
    return scheduling


@cache
def needs_spark(file: Path) -> bool:
    """Return True if a test file asks for the shared session."""
    return bool(_NEEDS_SPARK.search(file.read_text(encoding="utf-8")))
