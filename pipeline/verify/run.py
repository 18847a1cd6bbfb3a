"""`binlake verify`: the published cut's checksums, and the comparison with a server's."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from pipeline.lake import Ledger
from pipeline.lake.layout import require_writable
from pipeline.observe import Progress
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.verify.against import chunkings, compare
from pipeline.verify.checksums import checksums, published_cut, require_published
from pipeline.verify.live import snapshot_of
from pipeline.verify.report import Verification
from pipeline.verify.server_file import ServerFile, read_server_file
from pipeline.verify.state_match.cut_at import batch_at
from pipeline.verify.state_match.way import GoldStanding


def with_source(spark: SparkSession, settings: Settings) -> Settings:
    """The settings with the lake's source, if they name none and it has only one."""
    known = Ledger(spark, settings.layout, "").sources()
    if "source" in settings.model_fields_set or len(known) != 1:
        return settings
    return settings.model_copy(update={"source": known[0]})


def verify_with_server(
    spark: SparkSession,
    settings: Settings,
    progress: Progress,
    *,
    tables: Sequence[str] = (),
    patience: float = 0,
) -> Verification:
    """Compare with the server that settings name, as it is now, at the cut that gold publishes of
    that state; with the last one where it comes to none within so many seconds.

    Raises ServerError, and what `verify` raises.
    """
    # Before all of the server is read for nothing.
    require_writable(settings.lake)
    require_published(settings, Ledger(spark, settings.layout, settings.source))
    began = GoldStanding.of(spark, settings)
    with snapshot_of(settings, began, tables, patience, progress) as taken:
        file = read_server_file(spark, taken.path)
        batch = batch_at(spark, settings, taken.wanted, began, patience, progress)
        return _verify(spark, settings, tables, progress, file=file, batch=batch)


def verify(
    spark: SparkSession,
    settings: Settings,
    *,
    tables: Sequence[str] = (),
    against: str | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Read every table at the cut that was published last; writes nothing.

    `tables`: patterns over `schema.table`; `against`: the path or URL of a server's file. Raises
    SettingsError for a source without a cut, and for a file that is none.
    """
    file = None if against is None else read_server_file(spark, against)
    return _verify(spark, settings, tables, progress or QuietProgress(), file=file)


def _verify(
    spark: SparkSession,
    settings: Settings,
    tables: Sequence[str],
    progress: Progress,
    *,
    file: ServerFile | None,
    batch: int | None = None,
) -> Verification:
    cut = published_cut(spark, settings, tables, batch=batch)
    parted = {} if file is None else chunkings(cut, file)
    with progress.task("sum gold's tables", len(cut.tables), "tables") as task:
        found = checksums(settings, cut, parted, task)
    compared = None if file is None else compare(spark, settings, cut, found, file)
    told = tuple(table.told for table in found)
    return Verification(settings.lake, cut.source, cut.lsn, cut.gtid_set, told, compared)
