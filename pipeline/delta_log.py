"""Which version a Delta table is at, told by the files of its log: without a Spark job.

A commit is one file, `_delta_log/<version in 20 digits>.json`, and versions follow each other
without a gap; `_last_checkpoint` names one that is not far back. Source: Delta's PROTOCOL.md,
"Delta Log Entries" and "Last Checkpoint File".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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


def version_of(table: str) -> int | None:
    """The same; None too where its files cannot be read: each store's client has errors of its
    own, and Spark may know the way."""
    try:
        return latest_version(table)
    except Exception:
        return None


def is_latest(table: str, version: int) -> bool:
    """Whether nothing was committed behind this version, which the table has had."""
    return not _has(table, version + 1)


def is_absent(table: str) -> bool:
    """Whether there is surely nothing at a path, no table and no other file."""
    try:
        return not stores.exists(table)
    except Exception:  # each store's client has errors of its own
        return False


def commits_since(table: str, before: int | None) -> list[dict[str, Any]] | None:
    """The commits behind version `before`, or all, as Delta's history has them.

    The newest first: at least that one, whatever its version is. None where the log's files do not
    tell.
    """
    try:
        latest = _version_from(table, before)
        if latest is None:
            return None
        first = 0 if before is None else min(before + 1, latest)
        found = [_commit(table, version) for version in range(latest, first - 1, -1)]
    except Exception:  # each store's client has errors of its own: Spark may know the way
        return None
    commits = [commit for commit in found if commit is not None]
    return commits if len(commits) == len(found) else None


def _version_from(table: str, before: int | None) -> int | None:
    """The latest version, looked for from one on that the table has had."""
    if before is None or not _has(table, before):
        return latest_version(table)
    while _has(table, before + 1):
        before += 1
    return before


def _commit(table: str, version: int) -> dict[str, Any] | None:
    """What a commit tells of itself; None where it does not, or was cleaned away."""
    for line in (stores.content(commit_file(table, version)) or b"").splitlines():
        told = json.loads(line).get("commitInfo") if b'"commitInfo"' in line else None
        if told is not None:
            return {
                "version": version,
                "operation": told["operation"],
                "operationParameters": _texts(told.get("operationParameters") or {}),
                "operationMetrics": told.get("operationMetrics"),
                "userMetadata": told.get("userMetadata"),
            }
    return None


def _texts(parameters: Mapping[str, Any]) -> dict[str, str | None]:
    """Values as text, as the history has them: the log has some as JSON."""
    return {
        name: value if value is None or isinstance(value, str) else json.dumps(value)
        for name, value in parameters.items()
    }


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
