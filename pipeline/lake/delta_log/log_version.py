"""One version in the log of a table on a local disk, for tables to which delta-rs does not commit.

delta-rs 1.6 reads tables with liquid clustering and writes their checkpoints, but refuses commits:
it does not support the features `clustering` and `domainMetadata`. See Delta's PROTOCOL.md, "Delta
Log Entries", "Actions", "Clustered Table" and "Domain Metadata".

Invariant: a version's file appears whole and, among writers that hold the table's lock
(`pipeline.lake.locks.lock`), at most once, so one of two writers of it conflicts. What follows it,
checksum and checkpoint, may be missing: readers then read more of the log.
"""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipeline.lake.delta_log.delta_rs import (
    DELETED,
    KNOWN_FEATURES,
    LOG,
    drop_stale_checksum,
    unknown_features,
    unread_interval,
)
from pipeline.lake.delta_log.version_checksum import known_fields
from pipeline.observe.run_log import say

NamedAction: TypeAlias = Mapping[str, Any]
"""One action of a commit, by its name: `{"txn": {…}}`."""

UNFINISHED = ".tmp"
"""The suffix of a file of the log before it has its name."""
CHECKPOINT_INTERVAL = 10
"""Versions between two checkpoints, which is Delta's default."""
CLEANUP_INTERVAL = 100
"""Versions after which log entries older than the table's `delta.logRetentionDuration` are removed,
as Spark does at its checkpoints."""
_CLEANING = "delta.enableExpiredLogCleanup"

_COMMITTED_TO = ("deletionVectors", "columnMapping", "domainMetadata", "clustering")
"""Table features that such commits leave as they are, or whose metadata they write themselves."""


def can_extend(opened: DeltaTable) -> bool:
    """Return True if the table's protocol asks nothing of a commit but its actions."""
    return not unknown_features(opened, {*KNOWN_FEATURES, *_COMMITTED_TO})


def commit_info(operation: str, parameters: Mapping[str, Any], note: str | None) -> dict[str, Any]:
    """Return what a commit says of itself, as far as it is the same for all of Binlake's."""
    return {
        "timestamp": now(),
        "operation": operation,
        "operationParameters": parameters,
        "isolationLevel": "Serializable",
        "operationMetrics": {},
        "engineInfo": "Binlake",
        "txnId": str(uuid.uuid4()),
        **({} if note is None else {"userMetadata": note}),
    }


def begin_log(
    folder: str,
    info: Mapping[str, Any],
    actions: Sequence[NamedAction],
    checksum: Mapping[str, Any],
) -> None:
    """Commit a new table's first version and its checksum, unless there is one already."""
    log = Path(folder, "_delta_log")
    log.mkdir(parents=True, exist_ok=True)
    if _write_version(log, 0, info, actions):
        _write(log, _checksum_file(0), to_json({**checksum, "txnId": info["txnId"]}))


def extend_log(
    opened: DeltaTable,
    folder: str,
    info: Mapping[str, Any],
    actions: Sequence[NamedAction],
    checksum_after: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> bool:
    """Commit actions as the version after the one that is `opened`; also write its checksum, and a
    checkpoint if one is due. Return False if another writer has committed that version.

    `folder`: the table's, a local path; `checksum_after`: returns the checksum after the commit
    from the one before.
    """
    version, log = opened.version() + 1, Path(folder, "_delta_log")
    if not _write_version(log, version, {**info, "readVersion": version - 1}, actions):
        return False
    try:
        before = log / _checksum_file(version - 1)
        if before.exists():
            checksum = checksum_after(known_fields(json.loads(before.read_bytes())))
            _write(log, _checksum_file(version), to_json({**checksum, "txnId": info["txnId"]}))
        if version % CHECKPOINT_INTERVAL == 0:
            _write_checkpoint(opened, folder)
    except (DeltaError, OSError, ValueError, KeyError, TypeError) as error:
        # It is committed, and must not be done again.
        text = f"No checksum or checkpoint of version {version} of {folder} was written"
        say("log_not_extended", f"{text}: {error}", level=logging.WARNING)
    return True


def to_json(content: Any) -> str:
    """Return content as text for the log."""
    # delta-rs 1.6 loses a bit of an escaped character beyond U+FFFF.
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def now() -> int:
    """Return the time in milliseconds since 1970, as the log has it."""
    return int(time.time() * 1000)


def _write_checkpoint(opened: DeltaTable, folder: str) -> None:
    """Write a checkpoint, unless it would lack removed files that the table still keeps."""
    opened.update_incremental()
    if unread := unread_interval(opened, DELETED):
        text = f"No checkpoint was written of {folder}, which {unread}."
        text += " Unset it: `binlake maintain` sets it from the settings."
        say("log_not_extended", text, level=logging.WARNING)
        return
    opened.create_checkpoint()
    drop_stale_checksum(folder)
    if opened.version() % CLEANUP_INTERVAL == 0 and _is_cleaned(opened):
        opened.cleanup_metadata()


def _is_cleaned(opened: DeltaTable) -> bool:
    """Return True if the table asks for old entries to be removed, after a time that delta-rs
    reads."""
    is_off = opened.metadata().configuration.get(_CLEANING, "true").lower() == "false"
    return not is_off and not unread_interval(opened, LOG)


def _write_version(
    log: Path, version: int, info: Mapping[str, Any], actions: Sequence[NamedAction]
) -> bool:
    lines = [{"commitInfo": info}, *actions]
    return _write(log, f"{version:020d}.json", "".join(to_json(line) + "\n" for line in lines))


def _checksum_file(version: int) -> str:
    return f"{version:020d}.crc"


def _write(log: Path, name: str, text: str) -> bool:
    """Write a file of the log, whole; return False if there is one already."""
    written = log / f"_commit_{uuid.uuid4()}{UNFINISHED}"
    written.write_text(text, encoding="utf-8")
    try:
        os.link(written, log / name)
    except FileExistsError:
        return False
    finally:
        written.unlink()
    return True
