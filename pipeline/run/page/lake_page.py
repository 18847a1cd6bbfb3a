"""The contents of a page, read from the lake's own records at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pipeline.errors import SettingsError
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import last_verifications, runs_since
from pipeline.observe import Progress
from pipeline.observe.current_run import UNKNOWN, binlake_version
from pipeline.run.page.schema_changes import SchemaChange, schema_changes
from pipeline.run.page.stored_sizes import TableSize, table_sizes
from pipeline.run.status import Status, read_status
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class LakePage:
    """A lake at `made_at`, and its runs and schema changes of the last `days` days.

    `runs`: latest first. `verifications`: the last comparison of each source with a server.
    `source`: the only one shown, None for all. All times are in UTC.
    """

    status: Status
    made_at: datetime
    days: int
    runs: Sequence[RunRecord] = ()
    schema_changes: Sequence[SchemaChange] = ()
    sizes: Sequence[TableSize] = ()
    verifications: Sequence[RunRecord] = ()
    source: str | None = None
    version: str = ""

    @property
    def since(self) -> datetime:
        """The start of the days that the page shows."""
        return self.made_at - timedelta(days=self.days)


def read_page(
    spark: Spark, settings: Settings, progress: Progress, *, days: int, source: str | None = None
) -> LakePage:
    """Read the ledger, the tables' Delta logs and silver's statements; no row of silver's changes
    or of gold. Raises SettingsError if the lake has no such source."""
    lake = settings.layout
    now, version = datetime.now(timezone.utc), binlake_version()
    with progress.task("Reading the lake's records …"):
        status = read_status(spark, settings, source)
        names = {one.source for one in status.sources}
        if source is not None and source not in names:
            raise SettingsError(
                f"lake {settings.lake} has no source named {source}.",
                key="source",
                remedy="binlake status lists its sources.",
            )
        items = {name: read_items(spark, lake, name) for name in sorted(names)}
        runs = runs_since(spark, lake, days, source=source)
        changes = schema_changes(spark, lake, items, now - timedelta(days=days))
        verified = last_verifications(spark, lake)
    with progress.task("Reading the tables' logs …"):
        sizes = table_sizes(spark, settings, items, status.tables)
    return LakePage(
        status=status,
        made_at=now,
        days=days,
        runs=runs,
        schema_changes=changes,
        sizes=sizes,
        verifications=[verified[name] for name in sorted(names) if name in verified],
        source=source,
        version="" if version == UNKNOWN else version,
    )
