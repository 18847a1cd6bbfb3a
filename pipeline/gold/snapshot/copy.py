"""Copies of a published snapshot as Delta tables of their own, `TO/<schema>/<table>`.

A table is copied in one commit, which names the copied version of the gold table: a copy that was
interrupted is continued, and a table of another snapshot, or of anyone else, is never overwritten.
A lake that only Spark can read is copied by Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime
from os.path import expanduser
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from pipeline.errors import SettingsError
from pipeline.gold.plan.cuts_table import CutRow
from pipeline.gold.snapshot.query_engines import by_spark
from pipeline.gold.snapshot.snapshot import find_some_tables, moment
from pipeline.gold.snapshot.table_versions import SnapshotEntry, arrow_batches, name_of
from pipeline.gold.table.names import gold_name
from pipeline.lake import Lake
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.files.target_writer import Destination, Limits, TargetWriter
from pipeline.lake.layout import encode_part
from pipeline.lake.locks.lock import absolute, local_path
from pipeline.lake.tables.native import NativeTables, native_tables
from pipeline.observe import Progress
from pipeline.settings import Settings

_ALWAYS_A_FILE = Limits(small=0)
_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A copied table. `held`, `complete`: as in the snapshot. `already_there`: copied earlier."""

    schema: str
    table: str
    path: str
    held: bool
    complete: bool
    already_there: bool


@dataclass(frozen=True, slots=True)
class CopiedSnapshot:
    """The output of `binlake read`: the snapshot that was copied, and its tables."""

    lake: str
    source: str
    lsn: int
    gtid_set: str | None
    committed_at: datetime | None
    tables: tuple[CopiedTable, ...]

    def to_json(self) -> str:
        """Return a JSON object, times in ISO 8601."""
        return json.dumps(asdict(self), default=datetime.isoformat, ensure_ascii=False)


Copy: TypeAlias = Callable[[SnapshotEntry, str], bool]
"""Copies a table to a path; returns False if another table is there, or this one already."""
NoteOf: TypeAlias = Callable[[str], str | None]
"""Returns the note of the first commit of the table at a path; None if there is no table."""


def copy_snapshot(
    settings: Settings,
    to: str,
    at: str | None,
    patterns: Sequence[str],
    progress: Progress,
) -> CopiedSnapshot:
    """Copy the tables that match `patterns`, in the last snapshot that has nothing later than `at`,
    to Delta tables below the folder `to`.

    Raises SettingsError if there is no such snapshot or table, or if another table is at a copy's
    place; tables copied before that stay.
    """
    root = _folder(settings, to)
    until = None if at is None else moment(at)
    native, target = native_tables(settings.layout), native_tables(Lake(root))
    if native is not None and target is not None and settings.catalog is None:
        cut, entries = find_some_tables(settings, native, until, patterns)
        copy, note_of = _natively(settings, target)
    else:
        tables, _ = by_spark(settings)
        cut, entries = find_some_tables(settings, tables, until, patterns)
        copy, note_of = _through_spark(settings)
    with progress.task("copying tables", len(entries), "tables") as task:

        def copied(entry: SnapshotEntry) -> CopiedTable:
            place = f"{root}/{encode_part(entry['schema'])}/{encode_part(entry['table'])}"
            found = _copied(entry, place, copy, note_of)
            task.advance()
            return found

        with ThreadPoolExecutor(settings.parallel_tables) as pool:
            done = tuple(pool.map(copied, entries.values()))
    return _report(settings, cut, done)


def _folder(settings: Settings, to: str) -> str:
    root, lake = absolute(expanduser(to)).rstrip("/"), settings.lake.rstrip("/")
    if f"{root}/".startswith(f"{lake}/"):
        remedy = "Give a folder outside of the lake: only Binlake's runs write there."
        raise SettingsError(f"{root} is in the lake {lake}.", key="to", remedy=remedy)
    if "%" in root:
        remedy = "Give a folder without % in its path: some Delta readers decode it."
        raise SettingsError(f"{root} has % in its name.", key="to", remedy=remedy)
    if (folder := local_path(root)) is not None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"{root} cannot be created: {error.strerror}."
            remedy = "Check the path, and that this user can write it."
            raise SettingsError(reason, key="to", remedy=remedy) from error
    return root


def _copied(entry: SnapshotEntry, place: str, copy: Copy, note_of: NoteOf) -> CopiedTable:
    there = note_of(place)
    new = there is None and copy(entry, place)
    if not new and (there or note_of(place)) != _note(entry):
        raise SettingsError(
            f"{place} is a table already, and not {name_of(entry)} of this snapshot.",
            key="to",
            remedy="Give another folder, or remove the tables there.",
        )
    held, complete = entry["held"], entry["complete"]
    return CopiedTable(entry["schema"], entry["table"], place, held, complete, not new)


def _note(entry: SnapshotEntry) -> str:
    """Return the note of the commit that copies a table; it identifies the rows."""
    return f"binlake read: version {entry['delta_version']} of {entry['delta_id']}"


def _natively(settings: Settings, target: NativeTables) -> tuple[Copy, NoteOf]:
    def copy(entry: SnapshotEntry, place: str) -> bool:
        reference = gold_name(settings, entry["schema"], entry["table"])
        schema, parts = arrow_batches(reference, entry)
        table, name = LakeTable(place, schema), name_of(entry)
        with TargetWriter({name: Destination(place, table)}, _ALWAYS_A_FILE) as writer:
            for part in parts:
                for batch in part.to_batches():
                    writer.add(name, batch)
            files = writer.finish().files.get(name, ())
        return target.create(table, files, _note(entry))

    def note_of(place: str) -> str | None:
        commits = target.history(LakeTable(place, _NO_COLUMNS), None)
        return (commits[-1].note or "") if commits else None

    return copy, note_of


def _through_spark(settings: Settings) -> tuple[Copy, NoteOf]:
    from pyspark.errors import AnalysisException

    from pipeline.gold.schema.table_change import needed_features
    from pipeline.lake import delta
    from pipeline.lake.delta_log.column_features import enabling
    from pipeline.lake.delta_log.spark_written import history
    from pipeline.lake.lazy_spark import started
    from pipeline.spark.session import spark_for

    spark = spark_for(settings)
    _, read_table = by_spark(settings)

    def copy(entry: SnapshotEntry, place: str) -> bool:
        rows = read_table(gold_name(settings, entry["schema"], entry["table"]), entry)
        features = enabling(sorted(needed_features(rows.schema)))
        writer = rows.write.format("delta").options(**features, userMetadata=_note(entry))
        try:
            writer.mode("errorifexists").save(place)
        except AnalysisException:
            if note_of(place) is None:
                raise
            return False
        return True

    def note_of(place: str) -> str | None:
        if not delta.exists(started(spark), place):
            return None
        return history(spark, place, None)[-1].note or ""

    return copy, note_of


def _report(settings: Settings, cut: CutRow, tables: tuple[CopiedTable, ...]) -> CopiedSnapshot:
    return CopiedSnapshot(
        settings.lake, cut.source, cut.lsn, cut.gtid_set, cut.committed_at, tables
    )
