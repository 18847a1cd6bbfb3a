"""Which version a Delta table is at, told by the files of its log: without a Spark job.

A commit is one file, `_delta_log/<version in 20 digits>.json`, and versions follow each other
without a gap; `_last_checkpoint` names one that is not far back. Source: Delta's PROTOCOL.md,
"Delta Log Entries" and "Last Checkpoint File".
"""

from __future__ import annotations

import json

from pipeline import stores
from pipeline.sql_text import is_name

_CHECKPOINT = "_last_checkpoint"


def latest_version(table: str) -> int | None:
    """The table's version now; None where there is none, or where nothing tells: a catalog has it,
    or old commits were cleaned away behind a checkpoint that nothing names."""
    if is_name(table):
        return None
    found = _last_checkpoint(table)
    if found is None or not _has(table, found):
        return None
    while _has(table, found + 1):
        found += 1
    return found


def is_latest(table: str, version: int) -> bool:
    """Whether nothing was committed behind this version, which the table has had."""
    return not _has(table, version + 1)


def commit_file(table: str, version: int) -> str:
    """Where the commit of a version is, a line of JSON for each of its actions."""
    return f"{table}/_delta_log/{version:020d}.json"


def checksum_file(table: str, version: int) -> str:
    """Where Delta puts what the table is at a version, behind its commit: one JSON object."""
    return f"{table}/_delta_log/{version:020d}.crc"


def _has(table: str, version: int) -> bool:
    return stores.exists(commit_file(table, version))


def _last_checkpoint(table: str) -> int | None:
    """The version of a checkpoint; 0 where there is none yet, since the first commit is that.

    None where its file is half written: Delta overwrites it in place.
    """
    text = stores.content(f"{table}/_delta_log/{_CHECKPOINT}")
    try:
        return 0 if text is None else int(json.loads(text)["version"])
    except (ValueError, KeyError, TypeError):
        return None
