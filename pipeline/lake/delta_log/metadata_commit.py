"""Commits of a table's metadata: its creation, properties, columns and clustering.

They are those that Spark makes of CREATE TABLE and ALTER TABLE. See Delta's
PROTOCOL.md, "Change Metadata", "Protocol Evolution" and "Table Features".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from deltalake import DeltaTable

from pipeline.lake.delta_log.log_version import (
    NamedAction,
    begin_log,
    commit_info,
    extend_log,
    now,
    to_json,
)
from pipeline.lake.delta_log.table_log import CLUSTERING, names_in_files
from pipeline.lake.delta_log.version_checksum import of_empty_table, with_table

_READ_AND_WRITE = 3, 7
"""The versions of a protocol that lists its features, for readers and writers."""
_OF_WRITERS = ("appendOnly", "invariants")
"""Features that tables have always had, and that a list of features has to name."""
_CLUSTERED = "clustering"
"""The feature of clustered tables."""


def create_table(
    folder: str,
    schema: str,
    clustered_by: Sequence[str],
    features: Collection[str],
    properties: Mapping[str, str],
    note: str,
) -> None:
    """Create an empty table in a folder, unless there is one already.

    `schema`: in Delta's JSON; `features`: those that readers need, too.
    """
    metadata = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": properties,
        "createdTime": now(),
    }
    parameters = {
        "partitionBy": "[]",
        "clusterBy": to_json(clustered_by),
        "description": None,
        "isManaged": "false",
        "properties": to_json(properties),
    }
    info = {**commit_info("CREATE TABLE", parameters, note), "isBlindAppend": True}
    protocol = _protocol(features, clustered=bool(clustered_by))
    domains = [_clustering(clustered_by)] if clustered_by else []
    actions: list[Mapping[str, Any]] = [{"metaData": metadata}, {"protocol": protocol}]
    actions += [{"domainMetadata": domain} for domain in domains]
    begin_log(folder, info, actions, of_empty_table(metadata, protocol, domains))


def set_properties(
    opened: DeltaTable, folder: str, properties: Mapping[str, str], note: str
) -> bool:
    """Set properties that have no effect on the table's protocol, as `extend_log` commits."""
    metadata = _metadata(opened)
    metadata["configuration"] = {**metadata["configuration"], **properties}
    parameters = {"properties": to_json(properties)}
    return _set(opened, folder, metadata, commit_info("SET TBLPROPERTIES", parameters, note))


def set_columns(opened: DeltaTable, folder: str, schema: str, note: str) -> bool:
    """Give a table more columns, or another order of them, as `extend_log` commits.

    `schema`: as for `create_table`. Return False, with nothing committed, if that takes more than
    the schema: if columns change or go, or are mapped.
    """
    metadata = _metadata(opened)
    before, after = (_fields(text) for text in (metadata["schemaString"], schema))
    if not before.items() <= after.items():
        return False
    added = [{"column": json.loads(after[name])} for name in after if name not in before]
    operation = "ADD COLUMNS" if added else "CHANGE COLUMNS"
    info = commit_info(operation, {"columns": to_json(added)}, note)
    return _set(opened, folder, {**metadata, "schemaString": schema}, info)


def set_clustering(opened: DeltaTable, folder: str, columns: Sequence[str], note: str) -> bool:
    """Cluster a table by these columns, as `extend_log` commits; return False, with nothing
    committed, if it was created without clustering."""
    if _CLUSTERED not in (opened.protocol().writer_features or ()):
        return False
    names = names_in_files(opened)
    domain = _clustering([names[column] for column in columns])
    info = commit_info("CLUSTER BY", {"newClusteringColumns": ",".join(columns)}, note)
    actions = [{"domainMetadata": domain}]
    return extend_log(opened, folder, info, actions, partial(with_table, actions=actions))


def replaced_columns(
    opened: DeltaTable, schema: str, clustered_by: Sequence[str]
) -> list[NamedAction]:
    """Return the actions that give a table without column mapping other columns, and cluster it by
    some of them, for a commit that replaces all its files. `schema`: as for `create_table`."""
    actions: list[NamedAction] = [{"metaData": {**_metadata(opened), "schemaString": schema}}]
    if _CLUSTERED in (opened.protocol().writer_features or ()):
        actions.append({"domainMetadata": _clustering(clustered_by)})
    return actions


def _metadata(opened: DeltaTable) -> dict[str, Any]:
    there = opened.metadata()
    texts = {"name": there.name, "description": there.description}
    return {
        "id": str(there.id),
        **{name: text for name, text in texts.items() if text is not None},
        "format": {"provider": "parquet", "options": {}},
        "schemaString": opened.schema().to_json(),
        "partitionColumns": there.partition_columns,
        "configuration": dict(there.configuration),
        "createdTime": there.created_time,
    }


def _set(
    opened: DeltaTable, folder: str, metadata: Mapping[str, Any], info: Mapping[str, Any]
) -> bool:
    blind = {**info, "isBlindAppend": True}
    actions = [{"metaData": metadata}]
    return extend_log(opened, folder, blind, actions, partial(with_table, actions=actions))


def _fields(schema: str) -> dict[str, str]:
    return {
        field["name"]: json.dumps(field, sort_keys=True) for field in json.loads(schema)["fields"]
    }


def _protocol(features: Collection[str], *, clustered: bool) -> dict[str, Any]:
    reader, writer = _READ_AND_WRITE
    if not (features or clustered):
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    own = {_CLUSTERED, "domainMetadata"} if clustered else set()
    found = {
        "minReaderVersion": reader if features else 1,
        "minWriterVersion": writer,
        "writerFeatures": sorted({*features, *own, *_OF_WRITERS}),
    }
    return {**found, "readerFeatures": sorted(features)} if features else found


def _clustering(columns: Sequence[str]) -> dict[str, Any]:
    paths = {"clusteringColumns": [[name] for name in columns], "domainName": CLUSTERING}
    return {"domain": CLUSTERING, "configuration": to_json(paths), "removed": False}
