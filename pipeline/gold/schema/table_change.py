"""One change of a gold table's definition, and the commits that it takes.

A run may crash between any two commits. So the table property `POSITION` records the last change
that is done, and is set last; every commit before it is either a step that Delta skips when
repeated, or is not made if the table shows that it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession, types as st

from decoder import TableDefinition
from pipeline.gold.changes.small_batch import session_for
from pipeline.gold.changes.steps import Evolve
from pipeline.gold.local.overwrite import HeldRows, overwrite_without_spark
from pipeline.gold.table.gold_table import (
    BASE,
    DEFINITION,
    POSITION,
    SOURCE,
    GoldTable,
    TableProgress,
    Write,
    gold_schema,
    position_text,
    table_progress,
)
from pipeline.gold.table.options import TableOptions
from pipeline.gold.table.table_metadata import set_clustering, set_properties
from pipeline.lake import delta
from pipeline.lake.delta_log.column_features import (
    FOR_MAPPING,
    WALL_CLOCKS,
    enabling,
    needs_mapping,
)
from pipeline.lake.delta_log.spark_written import (
    clustered_by,
    features,
    has_log,
    latest_version,
    local_folder,
)
from pipeline.lake.lazy_spark import Spark, started
from pipeline.schema_history.alter.items import TimelineItem


@dataclass(frozen=True, slots=True)
class TableChange:
    """A part of a table's batch that changes its definition.

    `version` is the first transaction version of the step. `vouched`: gold has exactly the rows
    that the source had. `drop_rows`: a DROP in the source deletes the rows in gold.
    """

    spark: Spark
    table: GoldTable
    part: Evolve
    version: int
    vouched: bool = False
    drop_rows: bool = False

    @property
    def session(self) -> SparkSession:
        """The session, for what cannot be done without Spark."""
        return started(self.spark)

    @property
    def rewriting(self) -> SparkSession:
        """A session to rewrite the table in: that for small tables, if it is known to be small."""
        reference = self.table.reference
        if not has_log(self.spark, reference):
            return self.session
        return session_for(self.session, reference, self.spark)

    @property
    def item(self) -> TimelineItem:
        """The event in the table's history."""
        return self.part.item

    @property
    def definition(self) -> TableDefinition:
        """The table's definition after the change, if it has one."""
        if self.item.definition is None:
            raise ValueError(f"no definition of {self.item.name} follows from {self.item.kind}")
        return self.item.definition

    @property
    def schema(self) -> st.StructType:
        """The gold table's schema after the change."""
        return gold_schema(self.definition, self.table.types)

    @property
    def clustering(self) -> list[str]:
        """The columns that the gold table is clustered by after the change."""
        return self.table.options.clustering(self.schema, self.part.key)

    @property
    def done_properties(self) -> dict[str, str]:
        """Properties of a gold table to which the change has been applied."""
        version = self.item.version
        reached = {} if version is None else {DEFINITION: str(version)}
        place = position_text(self.item, self.table.refresh)
        return {SOURCE: self.table.source, **reached, POSITION: place}

    @property
    def write(self) -> Write:
        """The step in which values change, if any do."""
        return self.table.write(self.version)

    def progress(self) -> TableProgress | None:
        """Return the gold table's progress; None if there is no table."""
        return table_progress(self.spark, self.table.reference, self.table.refresh)

    def is_passed(self) -> bool:
        """Return True if the change is done, by this run or another one."""
        now = self.progress()
        return now is not None and now.reached >= self.item.position

    def commit(self, act: Callable[[], object]) -> None:
        """Make one commit to the table (see `delta.commit`)."""
        delta.commit(act, self.table.reference, self.write.step)

    def execute(self, statement: str) -> None:
        """Run one UPDATE or DELETE of the table."""
        delta.execute_once(self.session, statement, self.table.reference, self.write.step)

    def overwrite(self, rows: DataFrame) -> None:
        """Replace the table's rows and columns in place: published snapshots stay readable."""
        self._enable_features()
        delta.overwrite_once(rows, self.table.reference, self.write.step)

    def overwrite_here(self, rows: HeldRows | None) -> bool:
        """Replace the table's rows, with none if None, and columns without Spark's writer; return
        False if that is left to Spark."""
        if local_folder(self.spark, self.table.reference) is None:
            return False
        self._enable_features()
        return overwrite_without_spark(self.write, self.schema, self.clustering, rows)

    def _enable_features(self) -> None:
        lacking = needed_features(self.schema) - features(self.spark, self.table.reference)
        if lacking:
            self.set(enabling(lacking))

    def _commit_unless_passed(self, act: Callable[[Spark, str], None]) -> None:
        def once() -> None:
            if not self.is_passed():
                act(self.spark, self.table.reference)

        self.commit(once)

    def set(self, properties: Mapping[str, str]) -> None:
        """Set properties in one commit, unless the change is already done."""
        self._commit_unless_passed(partial(set_properties, properties=properties))

    def set_position(self) -> None:
        """Record that the change is done."""
        self.set(self.done_properties)

    def cluster(self) -> None:
        """Cluster the table by the settings' columns, or by its new key, if it is not yet.

        Record these columns as applied, so that maintenance finds nothing to do.
        """
        columns = self.clustering
        if clustered_by(self.spark, self.table.reference) != tuple(columns):
            self._commit_unless_passed(partial(set_clustering, columns=columns))
        now, asked = self.progress(), self.table.options.fitting(self.schema).cluster_by
        applied = TableOptions.applied(now.properties if now else {})
        if applied.cluster_by != asked:
            self.set(replace(applied, cluster_by=asked).record)

    def keep_base(self) -> int | None:
        """Return the table's version before the change, stored in its properties the first time.

        None if another run has already passed the change and started the next one.
        """

        def keep() -> None:
            now = self.progress()
            if now is None or now.reached >= self.item.position or now.base(self.item) is not None:
                return
            latest = latest_version(self.spark, self.table.reference)
            base = {BASE: f"{position_text(self.item, self.table.refresh)}@{latest}"}
            set_properties(self.spark, self.table.reference, base)

        self.commit(keep)
        now = self.progress()
        return now.base(self.item) if now else None


def needed_features(schema: st.StructType) -> frozenset[str]:
    """Return the Delta table features that a table with this schema needs."""
    if needs_mapping(schema.names):
        return FOR_MAPPING
    clocks = any(isinstance(field.dataType, st.TimestampNTZType) for field in schema.fields)
    return frozenset({WALL_CLOCKS} if clocks else ())
