"""`binlake verify`: the published cut's checksums, and the comparison with a server's."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from pipeline.ledger import Ledger
from pipeline.settings import Settings
from pipeline.verify.against import compare
from pipeline.verify.checksums import checksums, published_cut
from pipeline.verify.report import Verification


def with_source(spark: SparkSession, settings: Settings) -> Settings:
    """The settings with the lake's source, if they name none and it has only one."""
    known = {entry.source for entry in Ledger(spark, settings.layout, "").history()}
    if "source" in settings.model_fields_set or len(known) != 1:
        return settings
    return settings.model_copy(update={"source": known.pop()})


def verify(
    spark: SparkSession,
    settings: Settings,
    *,
    tables: Sequence[str] = (),
    against: str | None = None,
) -> Verification:
    """Read every table at the cut that was published last; writes nothing.

    `tables`: patterns over `schema.table`; `against`: the path or URL of a server's file. Raises
    SettingsError for a source without a cut, and for a file that is none.
    """
    cut = published_cut(spark, settings, tables)
    found = checksums(settings, cut)
    compared = compare(spark, settings, cut, found, against) if against else None
    return Verification(settings.lake, cut.source, cut.lsn, cut.gtid_set, found, compared)
