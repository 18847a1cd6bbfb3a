"""Opening of a lake's tables by delta-rs, with checks that nobody has altered them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.locks.lock import local_path

KNOWN_FEATURES = frozenset(
    {"appendOnly", "changeDataFeed", "invariants", "timestampNtz", "vacuumProtocolCheck"}
)
"""Table features that do not change how files are added and removed."""
_NTZ = '"timestamp_ntz"'
_FIRST_WITH_FEATURES = 7
_LAST_WITHOUT = 2
"""Writer versions of the protocol: those in between have features that the table does not list."""
_STALE = "._last_checkpoint.crc"
"""Hadoop's checksum of a file that delta-rs has rewritten: Spark would wait until they match."""
DELETED, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
"""Properties for how long a table keeps removed files, and entries of its log."""
_INTERVAL = re.compile(
    r"interval \d+ (nanosecond|microsecond|millisecond|second|minute|hour|day|week)s?"
)
"""Intervals that delta-rs can parse (`parse_interval` in its table/config.rs)."""


class AlteredTableError(BinlakeError):
    """A table of the lake that was altered by another program."""

    def __init__(self, reference: str, what: str, remedy: str) -> None:
        super().__init__(f"{reference} {what}; only Binlake may alter it.", remedy=remedy)


@contextmanager
def errors_of(reference: str) -> Iterator[None]:
    """Convert errors of delta-rs and of files to Binlake's; commit conflicts pass unchanged."""
    try:
        yield
    except CommitFailedError:
        raise
    except DeltaProtocolError as error:
        raise _altered_features(reference, _first_line(error)) from error
    except (DeltaError, OSError) as error:
        raise unreachable(reference, error) from error


def unreachable(reference: str, error: Exception) -> UnreachableError:
    """Return the error for a table that delta-rs, or the disk, cannot read or write."""
    return UnreachableError(
        f"{reference} cannot be read or written: {_first_line(error)}.",
        key="lake",
        remedy=stores.REMEDY,
    )


def opened(reference: str, options: Mapping[str, str]) -> DeltaTable | None:
    """Open the table at its latest version; None if it has no commit.

    Raises AlteredTableError if it has table features that Binlake does not support.
    """
    with errors_of(reference):
        table = opened_unchecked(reference, options)
    if table is not None and (unknown := unknown_features(table, KNOWN_FEATURES)):
        raise _altered_features(reference, ", ".join(unknown))
    return table


def opened_unchecked(reference: str, options: Mapping[str, str]) -> DeltaTable | None:
    """Open a table with any features, also gold's, to read only its log; None if it has no commit.

    delta-rs reports a folder without read permission as missing, so that is checked here.
    """
    try:
        return _open(reference, options)
    except TableNotFoundError:
        # It may have been created meanwhile.
        return _open(reference, options) if _has_commits(reference) else None


def require_read_retention(reference: str, table: DeltaTable) -> None:
    """Raise AlteredTableError if the retention of removed files was set in a form that Spark can
    parse and delta-rs cannot: delta-rs would silently use a week."""
    if unread := unread_interval(table, DELETED):
        raise AlteredTableError(reference, unread, remedy="Set it in that form, or unset it.")


def unread_interval(table: DeltaTable, name: str) -> str:
    """Return what is wrong with a table's interval, for which delta-rs would silently use its
    default; empty if it has none of this name, or one that delta-rs can parse."""
    text = table.metadata().configuration.get(name, "")
    if not text or _INTERVAL.fullmatch(text):
        return ""
    return f"has {name} set to {text!r}, which is not of the form `interval 30 days`"


def drop_stale_checksum(reference: str) -> None:
    """Remove Hadoop's checksum of `_last_checkpoint`, after a checkpoint by delta-rs."""
    if (folder := local_path(reference)) is not None:
        Path(folder, "_delta_log", _STALE).unlink(missing_ok=True)


def place(reference: str) -> str:
    """Return the table's location for delta-rs, which knows neither `file:/…` nor `gcs://`."""
    scheme, separator, rest = reference.partition("://")
    return local_path(reference) or (
        f"gs://{rest}" if scheme + separator == "gcs://" else reference
    )


def with_features(table: DeltaTable, schema: pa.Schema) -> bool:
    """Add the table features that a schema's types need; return True if that took a commit.

    Without them, delta-rs would commit a schema with which it can no longer open the table.
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
    """Return the columns of a schema that a table lacks, or has with another type."""
    there = {field.name: field for field in plain(table.schema())}
    return [
        field.name
        for field in plain(Schema.from_arrow(schema))
        if field.name not in there
        or there[field.name].type != field.type
        or (field.nullable and not there[field.name].nullable)
    ]


def schema_to_commit(table: LakeTable, opened: DeltaTable) -> pa.Schema | None:
    """Return the schema to commit with an empty table's first rows; None if it already has it.

    Raises AlteredTableError if a table with rows lacks a column or has another type.
    """
    lacking = lacks(opened, table.schema)
    if lacking and opened.get_add_actions().num_rows:
        raise AlteredTableError(
            table.reference,
            f"lacks these columns, or has them with other types: {', '.join(lacking)}",
            remedy="Restore the columns, or build the lake again from its binlogs.",
        )
    return table.schema if lacking else None


def _open(reference: str, options: Mapping[str, str]) -> DeltaTable:
    return DeltaTable(place(reference), storage_options=dict(options))


def plain(schema: Schema) -> pa.Schema:
    """Return a table's schema as an Arrow schema."""
    return pa.schema(schema.to_arrow())


def _has_commits(reference: str) -> bool:
    log = f"{reference.rstrip('/')}/_delta_log"
    with stores.sentences(reference, key="lake"):
        return stores.exists(log) and any(name.endswith(".json") for name in stores.names_in(log))


def unknown_features(table: DeltaTable, known: Collection[str]) -> list[str]:
    """Return the table's features that are not known, or its protocol's versions if they imply
    features that it does not list."""
    protocol = table.protocol()
    if protocol.min_writer_version >= _FIRST_WITH_FEATURES:
        return sorted(
            {*(protocol.reader_features or ()), *(protocol.writer_features or ())} - {*known}
        )
    if protocol.min_writer_version > _LAST_WITHOUT:
        return [f"protocol {protocol.min_reader_version}, {protocol.min_writer_version}"]
    return []


def _altered_features(reference: str, features: str) -> AlteredTableError:
    return AlteredTableError(
        reference,
        f"has Delta table features that Binlake did not add ({features})",
        remedy="Drop them (ALTER TABLE … DROP FEATURE), or build the lake again from its binlogs.",
    )


def _first_line(error: Exception) -> str:
    """Return an error's message without the stack trace that delta-rs appends to some."""
    return (stores.error_text(error) if isinstance(error, OSError) else str(error)).split("\n")[0]
