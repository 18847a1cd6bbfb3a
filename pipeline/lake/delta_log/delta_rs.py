"""A lake's table as delta-rs opens it: whether it is there, and is as Binlake makes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, TableFeatures
from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    DeltaProtocolError,
    TableNotFoundError,
)

from pipeline.errors import BinlakeError, UnreachableError
from pipeline.lake import stores
from pipeline.lake.delta_log.table import LakeTable
from pipeline.lake.locks.lock import local_path

_KNOWN = frozenset(
    {"appendOnly", "changeDataFeed", "invariants", "timestampNtz", "vacuumProtocolCheck"}
)
"""Features of tables with which files may be added and removed as they are here."""
_NTZ = '"timestamp_ntz"'
_FIRST_WITH_FEATURES = 7
_LAST_WITHOUT = 2
"""Of the protocol's versions for writers: those between have features that it does not list."""


_RETENTION = "delta.deletedFileRetentionDuration"
_INTERVAL = re.compile(
    r"interval \d+ (nanosecond|microsecond|millisecond|second|minute|hour|day|week)s?"
)
"""What delta-rs reads (`parse_interval` of its table/config.rs)."""


class AlteredTableError(BinlakeError):
    """Somebody changed what a table of the lake is."""

    def __init__(self, reference: str, what: str, remedy: str) -> None:
        super().__init__(f"{reference} {what}; Binlake alone may change it.", remedy=remedy)


@contextmanager
def errors_of(reference: str) -> Iterator[None]:
    """Errors of delta-rs and of its files as ours; conflicts of commits as they are."""
    try:
        yield
    except CommitFailedError:
        raise
    except DeltaProtocolError as error:
        raise _altered_features(reference, _first_line(error)) from error
    except (DeltaError, OSError) as error:
        raise unreachable(reference, error) from error


def unreachable(reference: str, error: Exception) -> UnreachableError:
    """What delta-rs, or a disk, says of a table that it cannot read or write."""
    return UnreachableError(
        f"{reference} cannot be read or written: {_first_line(error)}.",
        key="lake",
        remedy=stores.REMEDY,
    )


def opened(reference: str, options: Mapping[str, str]) -> DeltaTable | None:
    """The table as it is now; None where nothing was ever committed to it.

    Raises AlteredTableError for one that was given features with which it is not written here.
    """
    with errors_of(reference):
        table = opened_as_it_is(reference, options)
    if table is not None:
        _require_known_features(reference, table)
    return table


def opened_as_it_is(reference: str, options: Mapping[str, str]) -> DeltaTable | None:
    """The same of a table of any features, gold's too, of which only the log is read.

    delta-rs takes a folder that it may not look into for one that is not there.
    """
    try:
        return _open(reference, options)
    except TableNotFoundError:
        # It may have been made since.
        return _open(reference, options) if _has_commits(reference) else None


def require_read_retention(reference: str, table: DeltaTable) -> None:
    """Raise AlteredTableError where somebody set how long removed files stay, in a form that Spark
    reads and delta-rs does not: it would keep them for a week."""
    kept = table.metadata().configuration.get(_RETENTION, "")
    if kept and not _INTERVAL.fullmatch(kept):
        raise AlteredTableError(
            reference,
            f"has {_RETENTION} set to {kept!r}, which is not of the form `interval 30 days`",
            remedy="Set it in that form, or unset it.",
        )


def place(reference: str) -> str:
    """The table as delta-rs knows it: it has no file URLs of one slash, and no `gcs`."""
    scheme, separator, rest = reference.partition("://")
    return local_path(reference) or (
        f"gs://{rest}" if scheme + separator == "gcs://" else reference
    )


def with_features(table: DeltaTable, schema: pa.Schema) -> bool:
    """Give a table what a schema's types need, by a commit of its own; whether there was one.

    delta-rs itself would commit a schema with which it cannot open the table any more.
    """
    needed = _NTZ in Schema.from_arrow(schema).to_json()
    if not needed or "timestampNtz" in (table.protocol().writer_features or ()):
        return False
    table.alter.add_feature(
        TableFeatures.TimestampWithoutTimezone,
        allow_protocol_versions_increase=True,
        commit_properties=CommitProperties(max_commit_retries=0),
    )
    return True


def lacks(table: DeltaTable, schema: pa.Schema) -> list[str]:
    """Columns of a schema that a table does not have, or has of another type."""
    there = {field.name: field for field in plain(table.schema())}
    return [
        field.name
        for field in plain(Schema.from_arrow(schema))
        if field.name not in there
        or there[field.name].type != field.type
        or (field.nullable and not there[field.name].nullable)
    ]


def schema_to_commit(table: LakeTable, opened: DeltaTable) -> pa.Schema | None:
    """The schema that a table without rows gets with its first ones; None where it has it.

    Raises AlteredTableError for a table with rows: of these no column changes.
    """
    lacking = lacks(opened, table.schema)
    if lacking and opened.get_add_actions().num_rows:
        raise AlteredTableError(
            table.reference,
            f"lacks columns that it should have ({', '.join(lacking)}), or has other types",
            remedy="Give them back, or build the lake again from its binlogs.",
        )
    return table.schema if lacking else None


def _open(reference: str, options: Mapping[str, str]) -> DeltaTable:
    return DeltaTable(place(reference), storage_options=dict(options))


def plain(schema: Schema) -> pa.Schema:
    """A table's schema as Arrow has it."""
    return pa.schema(schema.to_arrow())


def _has_commits(reference: str) -> bool:
    log = f"{reference.rstrip('/')}/_delta_log"
    with stores.sentences(reference, key="lake"):
        return stores.exists(log) and any(name.endswith(".json") for name in stores.names_in(log))


def _require_known_features(reference: str, table: DeltaTable) -> None:
    protocol = table.protocol()
    if protocol.min_writer_version >= _FIRST_WITH_FEATURES:
        features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
        if unknown := sorted(features - _KNOWN):
            raise _altered_features(reference, ", ".join(unknown))
    elif protocol.min_writer_version > _LAST_WITHOUT:
        versions = f"{protocol.min_reader_version}, {protocol.min_writer_version}"
        raise _altered_features(reference, f"protocol {versions}")


def _altered_features(reference: str, features: str) -> AlteredTableError:
    return AlteredTableError(
        reference,
        f"was given features of Delta ({features})",
        remedy="Drop them (ALTER TABLE … DROP FEATURE), or build the lake again from its binlogs.",
    )


def _first_line(error: Exception) -> str:
    """Without the stack trace that delta-rs puts into some."""
    return (stores.said_by(error) if isinstance(error, OSError) else str(error)).split("\n")[0]
