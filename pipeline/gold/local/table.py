"""Gold tables on a local disk whose few, small files this process can change without Spark.

Whatever is unusual about a table is left to Spark: other table features, files with deletion
vectors, other columns, files that cannot be read.

Invariant: files are read and replaced by one `DeltaTable`, so the commit conflicts with any commit
in between.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable, Field
from deltalake.exceptions import DeltaError
from pyspark.sql import types as st

from pipeline.gold.changes.small_batch import SMALL_BYTES
from pipeline.gold.table.commits import SIGNATURE
from pipeline.gold.table.gold_table import Write
from pipeline.lake import stores
from pipeline.lake.delta_log.delta_rs import opened_unchecked, plain
from pipeline.lake.delta_log.file_commit import commit_files
from pipeline.lake.delta_log.log_version import NamedAction, can_extend
from pipeline.lake.delta_log.model import LakeTable, LogEntry
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_log.spark_written import local_folder
from pipeline.lake.delta_log.table_log import files_within, names_in_files
from pipeline.lake.delta_step import ATTEMPTS, Step, conflict_error, wait_after
from pipeline.lake.files.data_files import write_groups
from pipeline.lake.files.table_scan import scan_files, uncompressed_size
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.locks.lease import require_held
from pipeline.lake.locks.lock import exclusive, local_path
from pipeline.observe.run_log import say
from pipeline.schema_history.ddl.defaults import python_value
from pipeline.settings.settings import MIB

_HELD_BYTES, _HELD_VALUES = 64 * MIB, 4_000_000
"""Limits on their size, uncompressed but encoded, and on their values: 4 million numbers and short
texts take some 100 MB in memory."""
_DECODED_BYTES, _READ_ROWS = 2 * _HELD_BYTES, 1024
"""Limit on their size as decoded, since a dictionary has a repeated value once, and rows to
read at a time."""
_REFUSING = ("delta.appendOnly", "delta.enableChangeDataFeed")
"""Properties with which Delta adds to a commit, or refuses it."""
_COLUMN_ID, _FIELD_ID = "delta.columnMapping.id", b"PARQUET:field_id"
_PHYSICAL = "delta.columnMapping.physicalName"
_MAPPING = frozenset({_COLUMN_ID, _PHYSICAL})
_STATISTICS = 32
"""Delta's default number of columns with statistics."""
_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Keys in the footer of a file whose times Spark converts from the Julian calendar."""


class LeftToSparkError(Exception):
    """The table, or one of its files, is not one that this module changes."""


@dataclass(frozen=True, slots=True)
class SmallTable:
    """A gold table at one version, and those of its files that may have rows with some keys.

    `table`: the table by its local path, with its columns' names in files; `schema`: with theirs in
    the table.
    """

    opened: DeltaTable
    table: LakeTable
    schema: pa.Schema
    entries: pa.Table

    def files(self) -> list[tuple[LogEntry, pa.Table]]:
        """Return these files by their entries in the log, and their rows."""
        # Whole files are read, and Spark's statistics of times are not exact limits.
        scan = scan_files(replace(self.table, statistics=()), self.entries, {})
        found = [(scan.entries[one.path], one) for one in scan.dataset.get_fragments()]
        tables = held_rows([fragment for _, fragment in found], self.table.schema)
        typed = (one.rename_columns(self.schema.names).cast(self.schema) for one in tables)
        return [(entry, rows) for (entry, _), rows in zip(found, typed, strict=True)]

    def joined(self, parts: Iterable[pa.Table]) -> pa.Table:
        """Return rows of the table as one, also if there are none."""
        return pa.concat_tables([self.schema.empty_table(), *parts])

    def merge(
        self,
        removed: Sequence[LogEntry],
        copied: Sequence[pa.Table],
        updated: Sequence[pa.Table],
        inserted: pa.Table,
        deleted: int,
        step: Step,
    ) -> bool:
        """Replace files by one with the outcome of a MERGE, as `replace` does; `deleted`: the
        number of their rows that are gone."""
        metrics = {
            "numTargetRowsCopied": sum(map(len, copied)),
            "numTargetRowsUpdated": sum(map(len, updated)),
            "numTargetRowsDeleted": deleted,
            "numTargetRowsInserted": len(inserted),
        }
        rows = self.joined([*copied, *updated, inserted])
        return self.replace(removed, rows, step, "MERGE" if removed else "WRITE", metrics)

    def replace(
        self,
        removed: Sequence[LogEntry],
        rows: pa.Table,
        step: Step,
        operation: str,
        metrics: Mapping[str, int],
        table: Sequence[NamedAction] = (),
    ) -> bool:
        """Replace files by one with these rows, if there are any, as a step; return False if
        another writer has committed since. `metrics`: of the rows, for the table's history;
        `table`: as for `commit_files`."""
        stored = rows.rename_columns(self.table.schema.names)
        folder = self.table.reference
        files = write_groups(folder, self.table, {}, [stored])
        sizes = {
            "numTargetFilesRemoved": len(removed),
            "numTargetBytesRemoved": sum(int(entry["size_bytes"]) for entry in removed),
            "numTargetFilesAdded": len(files),
            "numTargetBytesAdded": sum(file.size for file in files),
        }
        figures = {**metrics, **sizes}
        done = commit_files(
            self.opened,
            folder,
            step,
            files,
            removed,
            operation=operation,
            metrics=figures,
            table=table,
        )
        if not done:
            for file in files:
                stores.remove(f"{folder}/{file.name}")
        return done


def change_without_spark(write: Write, change: Callable[[DeltaTable, str, Step], bool]) -> bool:
    """Change a gold table as one step, unless it is committed already; return False, with nothing
    committed, if the table is left to Spark.

    `change` commits to the table as it is opened, in the given folder; it returns False if another
    writer was faster, and raises LeftToSparkError if it cannot. Raises `ConcurrentRunError` after
    too many conflicts, and `LakeLostError`, as `delta.commit` does.
    """
    folder = local_path(write.table)
    if folder is None:
        return False
    step = replace(write.step, note=SIGNATURE)
    for attempt in range(ATTEMPTS):
        if attempt:
            wait_after(attempt - 1)
        try:
            with exclusive(write.table), _left_to_spark():
                opened = opened_unchecked(write.table, {})
                if opened is None:
                    return False
                reached = opened.transaction_version(step.app)
                if reached is not None and reached >= step.version:
                    return True
                require_held(write.table)
                if change(opened, folder, step):
                    return True
        except LeftToSparkError as reason:
            text = f"{write.table} is left to Spark"
            say("left_to_spark", f"{text}: {reason}", level=logging.DEBUG)
            return False
    raise conflict_error(write.table, step)


@contextmanager
def _left_to_spark() -> Iterator[None]:
    """Leave what cannot be read or written here to Spark: it may be able to, or says why not.

    A step that is committed already is done: Spark skips it. Python has no times outside of the
    years 1 to 9999 (OverflowError), of which statistics are written.
    """
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException, OverflowError) as error:
        raise LeftToSparkError(str(error)) from error


def empty_without_spark(spark: Spark, write: Write) -> bool:
    """Remove all files of a gold table as one step; return False as `change_without_spark` does,
    and for a table that is not on this machine."""

    def empty(opened: DeltaTable, folder: str, step: Step) -> bool:
        files = pa.table(opened.get_add_actions()).select(["path", "size_bytes"])
        require_usual(opened, files)
        removed = files.to_pylist()
        metrics = {
            "numRemovedFiles": len(removed),
            "numRemovedBytes": sum(entry["size_bytes"] for entry in removed),
        }
        return commit_files(opened, folder, step, [], removed, operation="DELETE", metrics=metrics)

    return local_folder(spark, write.table) is not None and change_without_spark(write, empty)


def fill_without_spark(
    spark: Spark, write: Write, columns: Sequence[st.StructField], texts: Mapping[str, str]
) -> bool:
    """Set columns to values in all rows of a gold table as one step; return False as
    `empty_without_spark` does. `texts`: as in `TimelineItem.defaults`."""

    def fill(opened: DeltaTable, folder: str, step: Step) -> bool:
        target = small_table(opened, folder, columns, {})
        files = target.files()
        rows = target.joined(found for _, found in files)
        if len(rows) * sum(len(text.encode()) for text in texts.values()) > _DECODED_BYTES:
            raise LeftToSparkError("its new values are too large for memory")
        for name, text in texts.items():
            place = target.schema.get_field_index(name)
            field = target.schema.field(place)
            rows = rows.set_column(place, field, pa.repeat(_value(text, field.type), len(rows)))
        metrics = {"numTargetRowsUpdated": len(rows)}
        return target.replace([entry for entry, _ in files], rows, step, "UPDATE", metrics)

    return local_folder(spark, write.table) is not None and change_without_spark(write, fill)


def _value(text: str, kind: pa.DataType) -> pa.Scalar:
    try:
        return pa.scalar(python_value(text, kind), kind)
    except (ValueError, ArithmeticError) as error:
        raise LeftToSparkError(f"its default {text!r}: {error}") from error


def held_rows(fragments: Sequence[ds.ParquetFileFragment], schema: pa.Schema) -> list[pa.Table]:
    """Return the rows of each of these Parquet files; raise LeftToSparkError if they are too large
    for memory, or if Spark reads other values."""
    rows = sum(fragment.metadata.num_rows for fragment in fragments)
    size = sum(uncompressed_size(fragment) for fragment in fragments)
    if size > _HELD_BYTES or rows * len(schema) > _HELD_VALUES:
        raise LeftToSparkError("its files are too large for memory")
    if any(_needs_conversion(fragment.metadata) for fragment in fragments):
        raise LeftToSparkError("a file has times in a form of Spark's own")
    tables, left = [], _DECODED_BYTES
    for fragment in fragments:
        batches = []
        for batch in fragment.to_batches(
            schema=schema, batch_size=_READ_ROWS, batch_readahead=1, fragment_readahead=1
        ):
            left -= batch.nbytes
            if left < 0:
                raise LeftToSparkError("its rows are too large for memory")
            batches.append(batch)
        tables.append(pa.Table.from_batches(batches, schema).combine_chunks())
    return tables


def with_rows(
    files: Iterable[tuple[LogEntry, pa.Table]], chosen: Any
) -> Iterator[tuple[LogEntry, pa.Table, slice]]:
    """Yield the files that have chosen rows, and which of all files' rows are theirs; `chosen`: a
    flag for each of these."""
    start = 0
    for entry, rows in files:
        own = slice(start, start + len(rows))
        start = own.stop
        if chosen[own].any():
            yield entry, rows, own


def small_table(
    opened: DeltaTable,
    folder: str,
    columns: Sequence[st.StructField],
    ranges: Mapping[str, tuple[Any, Any]] | None,
) -> SmallTable:
    """Return a table with these columns, and its files that may have rows within `ranges` (see
    `may_have_rows`), or none; raise LeftToSparkError if they are not small, or not as usual."""
    schema, fields = plain(opened.schema()), opened.schema().fields
    kinds = [(field.name, field.dataType) for field in spark_schema(schema)]
    if kinds != [(field.name, field.dataType) for field in columns]:
        raise LeftToSparkError("it has other columns")
    files, within = files_within(opened, ranges or {})
    files = files.filter(within) if ranges is not None else files.slice(0, 0)
    size = pc.sum(files.column("size_bytes")).as_py() or 0
    if size > SMALL_BYTES:
        raise LeftToSparkError(f"the files of these keys have {size} bytes")
    require_usual(opened, files)
    names = names_in_files(opened)
    stored = [_in_files(field, kind, names) for field, kind in zip(fields, schema, strict=True)]
    return SmallTable(opened, counted(folder, pa.schema(stored)), schema, files)


def counted(folder: str, stored: pa.Schema) -> LakeTable:
    """Return a table by its folder and the columns of its files, with the statistics of Delta."""
    return LakeTable(folder, stored, statistics=tuple(stored.names[:_STATISTICS]))


def require_usual(opened: DeltaTable, files: pa.Table) -> None:
    """Raise LeftToSparkError unless these files can be removed, and others added, with nothing else
    to do."""
    if not _is_usual(opened):
        raise LeftToSparkError("it has other table features or properties")
    if _have_deletion_vectors(opened, files):
        raise LeftToSparkError("the files of these keys have deletion vectors")


def _is_usual(opened: DeltaTable) -> bool:
    """Return True if files may be added and removed with nothing else to do."""
    metadata = opened.metadata()
    return (
        can_extend(opened)
        and all(metadata.configuration.get(name, "false") == "false" for name in _REFUSING)
        and not metadata.partition_columns
        and all(field.metadata.keys() <= _MAPPING for field in opened.schema().fields)
        and not any(map(_is_renamed_inside, json.loads(opened.schema().to_json())["fields"]))
    )


def _is_renamed_inside(column: Mapping[str, Any]) -> bool:
    """Return True if files have other names for the fields of a struct, as in a column added to a
    table with column mapping."""
    kind = column["type"]
    inside = [] if isinstance(kind, str) else kind.get("fields", [])
    return any(field["metadata"].get(_PHYSICAL, field["name"]) != field["name"] for field in inside)


def _in_files(field: Field, kind: pa.Field, names: Mapping[str, str]) -> pa.Field:
    """Return a column as the table's files have it, with its ID if columns are mapped."""
    number = field.metadata.get(_COLUMN_ID)
    metadata = {} if number is None else {_FIELD_ID: str(number)}
    return pa.field(names[field.name], kind.type, metadata=metadata)


def _have_deletion_vectors(opened: DeltaTable, files: pa.Table) -> bool:
    if "deletionVectors" not in (opened.protocol().reader_features or ()) or not len(files):
        return False
    marked = pa.table(opened.deletion_vectors()).column("filepath").to_pylist()
    names = {path.rpartition("/")[2] for path in marked}
    return any(path.rpartition("/")[2] in names for path in files.column("path").to_pylist())


def _needs_conversion(footer: pq.FileMetaData) -> bool:
    """Return True if Spark converts a file's times when it reads them."""
    kinds = {footer.schema.column(n).physical_type for n in range(len(footer.schema))}
    return "INT96" in kinds or any(key in (footer.metadata or {}) for key in _CALENDAR)
