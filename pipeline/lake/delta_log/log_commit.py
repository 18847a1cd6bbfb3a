"""One commit to the log of a table on a local disk, for tables to which delta-rs does not commit.

delta-rs 1.6 reads tables with liquid clustering and writes their checkpoints, but refuses commits:
it does not support the features `clustering` and `domainMetadata`. A commit that adds and removes
files needs neither: both concern what the table's own metadata says, which stays as it is. See
Delta's PROTOCOL.md, "Actions", "Clustered Table" and "Domain Metadata".

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipeline.lake.delta_log.column_statistics import statistics_text
from pipeline.lake.delta_log.delta_rs import drop_stale_checksum
from pipeline.lake.delta_log.model import DataFile, LogEntry, Step
from pipeline.lake.delta_log.version_checksum import checksum_after
from pipeline.observe.run_log import say

CHECKPOINT_INTERVAL = 10
"""Versions between two checkpoints, which is Delta's default."""
CLEANUP_INTERVAL = 100
"""Versions after which log entries older than the table's `delta.logRetentionDuration` are removed,
as Spark does at its checkpoints."""


def commit_files(
    opened: DeltaTable,
    folder: str,
    step: Step,
    added: Sequence[DataFile],
    removed: Sequence[LogEntry],
    *,
    operation: str,
    metrics: Mapping[str, int],
) -> bool:
    """Commit files as a step, in the version after the one that is `opened`; also write its
    checksum, and a checkpoint if one is due.

    Return False if another writer has committed that version. `folder`: the table's, a local path;
    `removed`: entries of files without a deletion vector and without partition values.
    """
    version = opened.version() + 1
    info = {
        "timestamp": _now(),
        "operation": operation,
        "operationParameters": {},
        "readVersion": opened.version(),
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {name: str(count) for name, count in metrics.items()},
        "engineInfo": "Binlake",
        "txnId": str(uuid.uuid4()),
        **({} if step.note is None else {"userMetadata": step.note}),
    }
    adds, removes = [*map(_add, added)], [*map(_remove, removed)]
    done = {"appId": step.app, "version": step.version, "lastUpdated": _now()}
    lines = [{"commitInfo": info}, {"txn": done}]
    lines += [{"remove": file} for file in removes] + [{"add": file} for file in adds]
    text = "".join(_json(line) + "\n" for line in lines)
    log = Path(folder, "_delta_log")
    if not _write(log, f"{version:020d}.json", text):
        return False
    try:
        before = log / f"{version - 1:020d}.crc"
        if before.exists():
            checksum = json.loads(before.read_bytes())
            checksum = checksum_after(checksum, str(info["txnId"]), done, adds, removes)
            _write(log, f"{version:020d}.crc", _json(checksum))
        if version % CHECKPOINT_INTERVAL == 0:
            _write_checkpoint(opened, folder)
    except (DeltaError, OSError, ValueError, KeyError, TypeError) as error:
        # It is committed, and must not be done again.
        text = f"No checksum or checkpoint of version {version} of {folder} was written"
        say("log_not_extended", f"{text}: {error}", level=logging.WARNING)
    return True


def _write_checkpoint(opened: DeltaTable, folder: str) -> None:
    opened.update_incremental()
    opened.create_checkpoint()
    drop_stale_checksum(folder)
    if opened.version() % CLEANUP_INTERVAL == 0:
        opened.cleanup_metadata()


def _add(file: DataFile) -> dict[str, Any]:
    return {
        "path": file.name,
        "partitionValues": {},
        "size": file.size,
        "modificationTime": _now(),
        "dataChange": True,
        "stats": statistics_text(file.rows, file.statistics),
    }


def _remove(entry: LogEntry) -> dict[str, Any]:
    return {
        "path": entry["path"],
        "deletionTimestamp": _now(),
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {},
        "size": entry["size_bytes"],
    }


def _json(content: Mapping[str, Any]) -> str:
    # delta-rs 1.6 loses a bit of an escaped character beyond U+FFFF.
    return json.dumps(content, ensure_ascii=False)


def _write(log: Path, name: str, text: str) -> bool:
    """Write a file of the log, whole; return False if there is one already."""
    written = log / f"_commit_{uuid.uuid4()}.tmp"
    written.write_text(text, encoding="utf-8")
    try:
        os.link(written, log / name)
    except FileExistsError:
        return False
    finally:
        written.unlink()
    return True


def _now() -> int:
    return int(time.time() * 1000)
