"""A gold table during a batch: its schema, its writes, and the properties with its progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import types as st

from decoder import TableDefinition, TypeOptions
from decoder.columns import row_type
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.gold.table.options import TableOptions
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_log.spark_written import properties
from pipeline.lake.delta_step import Step
from pipeline.lake.lazy_spark import Spark
from pipeline.schema_history.alter.items import Position, TimelineItem

SOURCE = "binlake.source"
DEFINITION = "binlake.definition"
POSITION = "binlake.position"
"""Last change of the table's definition that is done: `LSN:position`, followed by `#batch` of the
full refresh it belongs to, if any. A position of an earlier refresh is ignored: the table starts
from scratch. One of a later refresh means that the run is outdated and has nothing left to do."""
BASE = "binlake.base"
"""`LSN:position@version`: the last change that started to rewrite the table or move its rows, and
the table's version before it. A run that resumes it reads that version, whatever was written since,
and applies no rows from before the change, since their columns may no longer exist."""

_AFTER_ALL = (1 << 63, 0)


@dataclass(frozen=True, slots=True)
class GoldTable:
    """One gold table in a batch: reference, source, and the `app` of its write steps.

    `refresh`: the batch that began the full refresh to which this batch belongs (0: none).
    """

    reference: str
    source: str
    app: str
    types: TypeOptions
    refresh: int = 0
    options: TableOptions = field(default_factory=TableOptions)

    def write(self, version: int) -> Write:
        """Return a step of the table."""
        return Write(self.reference, Step(self.app, version))


@dataclass(frozen=True, slots=True)
class Write:
    """A step of a gold table: committed once, however often it is run."""

    table: str
    step: Step


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Progress of a gold table, from its properties.

    `refresh`: the full refresh for which it is read, as in `GoldTable`.
    """

    properties: Mapping[str, str]
    refresh: int = 0

    def is_of(self, source: str) -> bool:
        """Return True if the table belongs to that source."""
        return self.properties.get(SOURCE) == source

    @property
    def reached(self) -> Position:
        """Position of the last change of its definition that is done."""
        return self._position(self.properties.get(POSITION, ""))

    @property
    def begun(self) -> Position:
        """Position of the last change of its definition that was started: earlier rows are done."""
        return max(self.reached, self._position(self.properties.get(BASE, "").partition("@")[0]))

    def base(self, item: TimelineItem) -> int | None:
        """Return the table's version before `item`, if `item` has started to rewrite it."""
        place, _, version = self.properties.get(BASE, "").partition("@")
        return int(version) if place == position_text(item, self.refresh) else None

    def _position(self, place: str) -> Position:
        names = (POSITION, BASE)
        found = [_refresh_of(self.properties.get(name, "").partition("@")[0]) for name in names]
        if max(found) > self.refresh:
            return _AFTER_ALL
        if not place or _refresh_of(place) < self.refresh:
            return 0, 0
        lsn, _, pos = place.partition("#")[0].partition(":")
        return int(lsn), int(pos)


def table_progress(spark: Spark, reference: str, refresh: int = 0) -> TableProgress | None:
    """Return the table's progress in a full refresh; None if there is no table."""
    found = properties(spark, reference)
    return None if found is None else TableProgress(found, refresh)


def _refresh_of(place: str) -> int:
    return int(place.partition("#")[2] or 0)


def position_text(item: TimelineItem, refresh: int) -> str:
    """Return a change's position in the form that the properties use."""
    return f"{item.lsn}:{item.pos}{f'#{refresh}' if refresh else ''}"


def gold_schema(definition: TableDefinition, options: TypeOptions) -> st.StructType:
    """Return the schema of a gold table: the source's columns, all nullable, and gold's own."""
    return st.StructType(
        [
            *spark_schema(row_type(definition, options)).fields,
            st.StructField(LSN, st.LongType()),
            st.StructField(COMMITTED_AT, st.TimestampType()),
        ]
    )
