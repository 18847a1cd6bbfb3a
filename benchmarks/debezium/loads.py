"""The loads of the comparison: the workloads of the other benchmarks, and multiples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from benchmarks import bulk, workload
from benchmarks.figures import Tables
from benchmarks.peers.catalog import BULK, MIXED
from benchmarks.workload import Recording


@dataclass(frozen=True, slots=True)
class Load:
    """A load: its recording, its schema, and the columns to compare."""

    record: Callable[[], Recording]
    schema: str
    tables: Tables


BACKLOG = "backlog"
"""Four times the mixed load: the backlog of some hours."""
_BACKLOG_SCALE = Fraction(4)
OUTAGE = "outage"
"""Forty times the mixed load, 10 GB: the backlog after an outage of days."""
_OUTAGE_SCALE = Fraction(40)

LOADS: Mapping[str, Load] = {
    MIXED: Load(workload.workload, workload.SCHEMA, workload.TABLES),
    BACKLOG: Load(partial(workload.workload, _BACKLOG_SCALE), workload.SCHEMA, workload.TABLES),
    OUTAGE: Load(partial(workload.workload, _OUTAGE_SCALE), workload.SCHEMA, workload.TABLES),
    BULK: Load(bulk.bulk, bulk.SCHEMA, bulk.TABLES),
}
