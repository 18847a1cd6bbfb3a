"""Operations on a lake from settings to a result: the same for the command line and for `binlake`.

Their dependencies are imported inside: the command line's help is instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from os.path import expanduser
from types import MappingProxyType
from typing import TYPE_CHECKING

from pipeline.errors import BinlakeError, MissingRequirementError

if TYPE_CHECKING:
    from pipeline.gold.snapshot.copy import CopiedSnapshot
    from pipeline.lake.lazy_spark import Spark
    from pipeline.lake.ledger.run_record import RunRecord
    from pipeline.observe import Progress
    from pipeline.run.dbt_sources import Freshness
    from pipeline.run.preview import RunPreview
    from pipeline.run.status import Status
    from pipeline.settings import Settings
    from pipeline.verify.report import Verification

_EXTRAS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("pyspark", "py4j", "delta", "delta-spark"), ("spark", "Spark")),
        **dict.fromkeys(("altair", "jinja2", "markupsafe", "vl_convert"), ("report", "Altair")),
    }
)
"""The extra that installs a module or distribution, and its name in messages."""


def explained(error: Exception) -> Exception:
    """Return the error to report: for a missing package of an extra, one that says what to
    install."""
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "").partition(".")[0]
        if package in _EXTRAS:
            extra, name = _EXTRAS[package]
            return MissingRequirementError(
                f"{name} is not installed (no {package}).",
                remedy=f"Run: pip install 'binlake[{extra}]', or pip install '.[{extra}]' in a"
                " clone.",
            )
    return error


@contextmanager
def _explaining() -> Iterator[None]:
    """Raise MissingRequirementError if the block needs an extra that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (explanation := explained(error)) is error:
            raise
        raise explanation from error


def session_for(
    command: str, settings: Settings, progress: Progress | None = None
) -> tuple[Spark, Settings]:
    """Return Spark for a command, once the lake, the source and the places it needs are there.

    Raises SettingsError, MissingRequirementError or UnreachableError if one is not. `maintain`
    works on the lake's only source if the settings name none. `progress` shows the start of Spark.
    """
    from pipeline.lake.layout import require_writable
    from pipeline.maintenance.job import of_source
    from pipeline.run.commands import COMMANDS, require_source
    from pipeline.run.preflight import require_lake, require_places
    from pipeline.spark.session import spark_for

    layers = COMMANDS[command]
    settings.require("lake", *(["binlogs"] if "bronze" in layers else []))
    if not {"bronze", "seed"}.isdisjoint(layers):
        require_places(layers, settings)
        require_writable(settings.lake)
        connector, beside = "seed" in layers, "gold" in layers
        return spark_for(settings, progress, connector=connector, beside=beside), settings
    require_places(layers, require_lake(settings))
    spark = spark_for(settings, progress, beside="gold" in layers)
    if command == "maintain":
        settings = of_source(spark, settings)
    require_source(spark, settings)
    return spark, settings


@_explaining()
def run_record(settings: Settings, progress: Progress, command: str) -> RunRecord:
    """Do what `binlake COMMAND` does and return the record that `binlake runs` lists.

    Raises BinlakeError if the run fails.
    """
    from pipeline.run.commands import recorded_run

    spark, settings = session_for(command, settings, progress)
    _, record = recorded_run(spark, settings, progress, command)
    return _made(record, command)


def _made(record: RunRecord | None, command: str) -> RunRecord:
    """Return the record. Raises BinlakeError if it could not be made."""
    if record is None:
        raise BinlakeError(
            f"{command} finished, but its record could not be made.",
            remedy="Logger binlake has the reason, as record_not_written.",
        )
    return record


@_explaining()
def sync_record(settings: Settings, progress: Progress) -> RunRecord:
    """Do what `binlake sync` does without `--every`; return the record of its run.

    Raises BinlakeError if it fails.
    """
    from pipeline.run.sync.command import once

    _, record = once(settings, progress, lambda reports: None)
    return _made(record, "sync")


def run_preview(command: str, settings: Settings, progress: Progress) -> RunPreview:
    """Return what `binlake COMMAND` would do, once the lake, the source and the places it needs are
    there; writes nothing. Raises as `session_for`."""
    from pipeline.run.commands import require_source
    from pipeline.run.preflight import require_lake, require_places
    from pipeline.run.preview import LAYERS, preview
    from pipeline.spark.session import spark_for

    layers = LAYERS[command]
    ingests = "bronze" in layers
    settings.require("lake", *(["binlogs"] if ingests else []))
    require_places(layers, settings if ingests else require_lake(settings))
    spark = spark_for(settings, progress)
    if not ingests:
        require_source(spark, settings)
    return preview(spark, settings, progress, command)


@_explaining()
def lake_status(settings: Settings, progress: Progress | None = None) -> Status:
    """Return what `binlake status` shows. Raises SettingsError if there is no lake."""
    from pipeline.run.preflight import no_lake, require_lake
    from pipeline.run.status import read_status
    from pipeline.spark.session import spark_for

    found = read_status(spark_for(require_lake(settings), progress), settings)
    # A first run that failed has left its record, and nothing else.
    if not found.layers and not found.sources:
        raise no_lake(settings)
    return found


@_explaining()
def lake_report(
    settings: Settings, html: str, progress: Progress, *, days: int, source: str | None = None
) -> int:
    """Write a page of the lake to a path or URL and return its size in bytes.

    `days`: the number of days whose runs and changes it shows; `source`: the only one to show. The
    file is replaced at once. Raises SettingsError if there is no lake, or if `html` cannot be a
    file.
    """
    from pipeline.run.page.document import document
    from pipeline.run.page.lake_page import read_page
    from pipeline.run.page.output import require_file, write_page
    from pipeline.run.preflight import no_lake, require_lake
    from pipeline.spark.session import spark_for

    require_file(html)
    spark = spark_for(require_lake(settings), progress)
    page = read_page(spark, settings, progress, days=days, source=source)
    if not page.status.layers and not page.status.sources:
        raise no_lake(settings)
    with progress.task("Drawing the charts …"):
        text = document(page)
    return write_page(html, text)


@_explaining()
def verification(
    settings: Settings,
    progress: Progress,
    *,
    tables: Sequence[str] = (),
    against: str | None = None,
    wait: float = 0,
) -> Verification:
    """Return what `binlake verify` finds.

    `tables`: patterns over `schema.table`; `against`: a file of the script's, or a server's URL or
    `server`, for the one that settings name; `wait`: seconds to wait until gold catches up with the
    server. Raises SettingsError, NothingReplicatedError before the first run has
    published a snapshot, ServerError.
    """
    from pipeline.run.commands import require_source
    from pipeline.run.preflight import require_lake
    from pipeline.settings.server import THE_SERVER, is_server
    from pipeline.spark.session import spark_for
    from pipeline.verify.comparison_record import keep_record
    from pipeline.verify.run import verify, verify_with_server, with_source

    began = datetime.now(timezone.utc)
    spark = spark_for(require_lake(settings), progress)
    settings = with_source(spark, settings)
    require_source(spark, settings)
    if against is not None and (against == THE_SERVER or is_server(against)):
        found = verify_with_server(spark, settings, progress, tables=tables, patience=wait)
    else:
        file = against and expanduser(against)
        found = verify(spark, settings, tables=tables, against=file, progress=progress)
    keep_record(spark, settings, found, began)
    return found


@_explaining()
def snapshot_copy(
    settings: Settings, to: str, at: str | None, patterns: Sequence[str], progress: Progress
) -> CopiedSnapshot:
    """Copy the gold tables of a published snapshot, as `binlake read` does.

    Arguments as of `copy_snapshot`. Raises SettingsError if there is no such snapshot, or if other
    tables are in `to`, LostSnapshotError.
    """
    from pipeline.gold.snapshot.copy import copy_snapshot

    return copy_snapshot(settings.require("lake"), to, at, patterns, progress)


@_explaining()
def gold_sources(
    settings: Settings, freshness: Freshness, patterns: Sequence[str], progress: Progress
) -> str:
    """Return the dbt sources file of the gold tables that match `patterns`.

    Raises SettingsError if nothing is published, LostSnapshotError.
    """
    from pipeline.gold.snapshot.description import describe_tables
    from pipeline.run.dbt_sources import dbt_sources
    from pipeline.run.preflight import require_lake
    from pipeline.spark.session import spark_for

    spark = spark_for(require_lake(settings), progress)
    source, tables = describe_tables(spark, settings, patterns)
    return dbt_sources(source, tables, freshness)
