"""`binlake verify`: checksums of the published snapshot, and their comparison with a server's."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.lake import Ledger
from pipeline.lake.layout import require_writable
from pipeline.lake.lazy_spark import Spark, started
from pipeline.layer import LayerRun
from pipeline.observe import Progress
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.verify.against import chunkings, compare
from pipeline.verify.checksums import checksums, published_snapshot, require_published
from pipeline.verify.live import snapshot_of
from pipeline.verify.matching import GoldPosition, batch_at
from pipeline.verify.report import Verification
from pipeline.verify.server_file import ServerFile, read_server_file


def with_source(spark: Spark, settings: Settings) -> Settings:
    """Return the settings with the lake's source, if they name none and it has only one."""
    known = Ledger(spark, settings.layout, "").sources()
    if "source" in settings.model_fields_set or len(known) != 1:
        return settings
    return settings.model_copy(update={"source": known[0]})


def verify_with_server(
    spark: Spark,
    settings: Settings,
    progress: Progress,
    *,
    tables: Sequence[str] = (),
    patience: float = 0,
) -> Verification:
    """Compare with the settings' server as it is now, at the snapshot gold publishes of that state.

    If gold publishes none within `patience` seconds, compare with the last snapshot. Raises
    ServerError, and the errors of `verify`.
    """
    # Checked first: reading the server may take hours.
    require_writable(settings.lake)
    run = LayerRun.begin(spark, settings, progress)
    require_published(run)
    began = GoldPosition.of(run)
    with snapshot_of(run, began, tables, patience) as (path, wanted):
        file = read_server_file(started(spark), path)
        return _verify(run, tables, file, batch_at(run, wanted, began, patience))


def verify(
    spark: Spark,
    settings: Settings,
    *,
    tables: Sequence[str] = (),
    against: str | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Compute the checksum of every table at the last published snapshot; read-only.

    `tables`: patterns over `schema.table`. `against`: path or URL of a server's file to compare
    with. Raises NothingReplicatedError for a source without a published snapshot, and SettingsError
    for a file that is not a snapshot.
    """
    run = LayerRun.begin(spark, settings, progress or QuietProgress())
    require_published(run)
    file = None if against is None else read_server_file(started(spark), against)
    return _verify(run, tables, file)


def _verify(
    run: LayerRun, tables: Sequence[str], file: ServerFile | None, batch: int | None = None
) -> Verification:
    snapshot = published_snapshot(run, tables, batch=batch)
    found = checksums(run, snapshot, {} if file is None else chunkings(snapshot, file))
    compared = None if file is None else compare(run, snapshot, found, file)
    totals = tuple(table.total for table in found)
    return Verification(
        run.settings.lake, snapshot.source, snapshot.lsn, snapshot.gtid_set, totals, compared
    )
