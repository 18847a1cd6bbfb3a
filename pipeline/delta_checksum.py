"""What a Delta table is now, told by the checksum file of its latest version: without a Spark job.

Behind each commit Delta writes `_delta_log/<version in 20 digits>.crc`, which holds the table's
metadata and what else of its state is small. DESCRIBE DETAIL puts the same together from the
table's whole state, which Spark computes anew after each commit, by a job or two. Source: Delta's
PROTOCOL.md, "Version Checksum File", "Clustered Table" and "Column Mapping".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline import stores
from pipeline.delta_log import checksum_file, latest_version

_CLUSTERING = "delta.clustering"
_PHYSICAL = "delta.columnMapping.physicalName"
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OSError)
"""What reading a damaged file ends in. Delta is asked then."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A table: its `id`, its properties, the columns that it has and that it is clustered by, how
    many files it has and how many bytes are in them."""

    id: str
    properties: Mapping[str, str]
    clustered: tuple[str, ...]
    files: int
    bytes: int


def told(table: str) -> Detail | None:
    """The table now; None where there is none, or where its files do not tell: a catalog has it,
    its latest commit has no checksum file (yet), one that lacks something, or a damaged one."""
    try:
        version = latest_version(table)
        text = None if version is None else stores.content(checksum_file(table, version))
        return None if text is None else _detail(json.loads(text))
    except _UNREADABLE:
        return None


def _detail(checksum: Mapping[str, Any]) -> Detail | None:
    metadata = checksum["metadata"]
    columns = json.loads(metadata["schemaString"])["fields"]
    clustered = _clustered(checksum["domainMetadata"], columns)
    if not columns or clustered is None:
        return None
    return Detail(
        metadata["id"],
        metadata.get("configuration", {}),
        clustered,
        checksum["numFiles"],
        checksum["tableSizeBytes"],
    )


def _clustered(
    domains: list[Mapping[str, Any]], columns: list[Mapping[str, Any]]
) -> tuple[str, ...] | None:
    """The columns by their names in the table, of which the log has those in the files.

    None where it is clustered by a field of a struct: gold's tables are not.
    """
    names = {
        column["metadata"].get(_PHYSICAL, column["name"]): column["name"] for column in columns
    }
    paths: list[list[str]] = next(
        (
            json.loads(domain["configuration"])["clusteringColumns"]
            for domain in domains
            if domain["domain"] == _CLUSTERING and not domain["removed"]
        ),
        [],
    )
    if any(len(path) > 1 for path in paths):
        return None
    return tuple(names[path[0]] for path in paths)
