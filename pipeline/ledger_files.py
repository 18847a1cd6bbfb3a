"""A source's last finished batch of a layer, told by the ledger's files: without Spark.

Each of the ledger's rows comes with a commit of its own, which has a transaction identifier (`txn`)
that names the layer, and adds one file. Source: Delta's PROTOCOL.md, "Transaction Identifiers" and
"Add File and Remove File".
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import stores
from pipeline.delta_log import commit_file, latest_version
from pipeline.lake import Lake
from pipeline.ledger import FINISHED, PLANNED, Layer, Plan, written_as

Actions = Mapping[str, Mapping[str, Any]]
"""What a commit does, by the kind of action."""

MOST = 500
"""Commits that are looked at: in a lake of very many sources the last ones may all be of others."""

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OSError, pa.ArrowException)
"""What reading a damaged file ends in. Spark reads it then, or says what is wrong with it."""


def last_finished(lake: Lake, source: str, layer: Layer) -> tuple[Plan, dict[str, Any]] | None:
    """The plan and the record of the last finished batch. None where these files do not tell: there
    is none, a catalog has the ledger, old files were cleaned away, or one cannot be read."""
    try:
        return _last_finished(lake.ledger("batches"), source, layer)
    except _UNREADABLE:
        return None


def _last_finished(ledger: str, source: str, layer: Layer) -> tuple[Plan, dict[str, Any]] | None:
    commits = _commits(ledger)
    # A batch is finished behind its plan: the same look goes on from there.
    finished = _row(ledger, commits, written_as(source, layer, FINISHED))
    planned = finished and _row(
        ledger, commits, written_as(source, layer, PLANNED), finished["batch"]
    )
    if not finished or not planned:
        return None
    plan = Plan(source, layer, planned["batch"], json.loads(planned["body"]), planned["run_id"])
    return plan, json.loads(finished["body"])


def _row(
    table: str, commits: Iterator[Actions], app: str, version: int | None = None
) -> dict[str, Any] | None:
    """The row of the next commit under this name, and of this version if one is told; None where
    there is none, or its file is gone, since its row is in a larger one now. Behind a commit that
    took rows away, by hand, none is told."""
    for actions in commits:
        if actions.get("remove", {}).get("dataChange"):
            return None
        written = actions.get("txn", {})
        if written.get("appId") == app and version in (None, written["version"]):
            content = stores.content(f"{table}/{unquote(actions['add']['path'])}")
            if content is None:
                return None
            (row,) = pq.read_table(io.BytesIO(content)).to_pylist()
            return dict(row)
    return None


def _commits(table: str) -> Iterator[Actions]:
    """Each commit, the latest first, as far as there are such files. Of several actions of a kind
    there is one: commits of the ledger's own rows have no more."""
    latest = latest_version(table)
    if latest is None:
        return
    for version in range(latest, max(-1, latest - MOST), -1):
        text = stores.content(commit_file(table, version))
        if text is None:
            return
        yield {kind: told for line in text.splitlines() for kind, told in json.loads(line).items()}
