"""`binlake verify`: the published cut's checksums, and the comparison with a server's."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from pipeline.lake import require_writable
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.settings import Settings
from pipeline.verify.against import compare
from pipeline.verify.checksums import checksums, published_cut, require_published
from pipeline.verify.cut_at import batch_at
from pipeline.verify.live import snapshot_of
from pipeline.verify.report import Verification
from pipeline.verify.server_file import read_server_file


def with_source(spark: SparkSession, settings: Settings) -> Settings:
    """The settings with the lake's source, if they name none and it has only one."""
    known = {entry.source for entry in Ledger(spark, settings.layout, "").history()}
    if "source" in settings.model_fields_set or len(known) != 1:
        return settings
    return settings.model_copy(update={"source": known.pop()})


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
    with snapshot_of(settings, tables, progress) as file:
        batch = batch_at(spark, settings, read_server_file(spark, file), patience, progress)
        return verify(spark, settings, tables=tables, against=file, batch=batch)


def verify(
    spark: SparkSession,
    settings: Settings,
    *,
    tables: Sequence[str] = (),
    against: str | None = None,
    batch: int | None = None,
) -> Verification:
    """Read every table at the cut that was published last, or by a `batch`; writes nothing.

    `tables`: patterns over `schema.table`; `against`: the path or URL of a server's file. Raises
    SettingsError for a source without a cut, and for a file that is none.
    """
    cut = published_cut(spark, settings, tables, batch=batch)
    found = checksums(settings, cut)
    compared = compare(spark, settings, cut, found, against) if against else None
    return Verification(settings.lake, cut.source, cut.lsn, cut.gtid_set, found, compared)
