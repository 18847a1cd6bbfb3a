"""Gold tables at the versions that a published snapshot names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from pipeline.errors import BinlakeError
from pipeline.lake import stores
from pipeline.lake.delta_log import delta_rs

SnapshotEntry: TypeAlias = Mapping[str, Any]
"""A table's entry in the row of a published snapshot (`cuts_table.TABLES`)."""
_NOT_FOUND = "not found"


class LostSnapshotError(BinlakeError):
    """A snapshot names a version of `table` (`schema.table`) that is no longer there."""

    def __init__(self, table: str, version: int, cause: str) -> None:
        super().__init__(
            f"{table} cannot be read at version {version}, which the snapshot names: {cause}",
            remedy="Read a later snapshot: maintenance removes those older than retention.cuts,"
            " and a table that was re-created has no earlier versions.",
        )
        self.table = table
        self.version = version


def name_of(entry: SnapshotEntry) -> str:
    """Return `schema.table`."""
    return f"{entry['schema']}.{entry['table']}"


def opened(reference: str, entry: SnapshotEntry) -> DeltaTable:
    """Open the table at the version that the snapshot names.

    Raises LostSnapshotError if that is gone, or if another table is there by now, UnreachableError
    if the store does not answer.
    """
    name, version = name_of(entry), entry["delta_version"]
    with delta_rs.errors_of(reference):
        table = delta_rs.opened_unchecked(reference, stores.options_for(reference).delta)
    if table is None:
        raise LostSnapshotError(name, version, f"there is no table at {reference}.")
    try:
        table.load_as_version(version)
    except DeltaError as error:
        raise LostSnapshotError(name, version, _line(error)) from error
    if table.metadata().id != entry["delta_id"]:
        raise LostSnapshotError(name, version, f"another table is at {reference} by now.")
    return table


def schema_of(table: DeltaTable) -> pa.Schema:
    """Return an open table's columns. Its fields' metadata in the log is about files."""
    return pa.schema([_without_metadata(field) for field in delta_rs.plain(table.schema())])


def _without_metadata(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_without_metadata(inner) for inner in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(_without_metadata(kind.value_field))
    return pa.field(field.name, kind, field.nullable)


def arrow_table(reference: str, entry: SnapshotEntry) -> pa.Table:
    """Return the table's rows in memory; raises as `opened`."""
    table = opened(reference, entry)
    with _errors_of_the_engine(reference, entry):
        found = pa.table(_rows_of(table).read_all())
    # The engine uses its own layouts for text.
    return found.cast(schema_of(table))


def arrow_batches(reference: str, entry: SnapshotEntry) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Return the table's columns, and its rows in parts that fit into memory; raises as `opened`,
    also while they are read."""
    table = opened(reference, entry)
    schema = schema_of(table)

    def parts() -> Iterator[pa.Table]:
        with _errors_of_the_engine(reference, entry):
            for batch in _rows_of(table):
                yield pa.table(batch).cast(schema)

    return schema, parts()


def _rows_of(table: DeltaTable) -> Any:
    return QueryBuilder().register("gold", table).execute("SELECT * FROM gold")


@contextmanager
def _errors_of_the_engine(reference: str, entry: SnapshotEntry) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The engine raises a bare Exception for files, and so do object stores' clients.
        if _NOT_FOUND in str(error):
            version = entry["delta_version"]
            raise LostSnapshotError(name_of(entry), version, _line(error)) from error
        if type(error) is Exception or isinstance(error, (DeltaError, OSError)):
            raise delta_rs.unreachable(reference, error) from error
        raise


def _line(error: Exception) -> str:
    """Return the first line of an error of delta-rs: some continue with a stack trace."""
    return f"{str(error).splitlines()[0].rstrip('.')}."
