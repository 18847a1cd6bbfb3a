"""What a Delta table is now, told by the checksum file of its latest version: without a Spark job.

Behind each commit Delta writes `_delta_log/<version in 20 digits>.crc`, which holds the table's
metadata and what else of its state is small. DESCRIBE DETAIL puts the same together from the
table's whole state, which Spark computes anew after each commit, by a job or two. Source: Delta's
PROTOCOL.md, "Version Checksum File", "Clustered Table" and "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from pipeline import stores
from pipeline.delta_log import checksum_file, version_of

_CLUSTERING = "delta.clustering"
_MAPPING = "delta.columnMapping.mode"
_PHYSICAL = "delta.columnMapping.physicalName"


@dataclass(frozen=True, slots=True)
class Detail:
    """A table: its `id`, its properties, the columns that it is clustered by, how many files it has
    and how many bytes are in them."""

    id: str
    properties: Mapping[str, str]
    clustered: tuple[str, ...]
    files: int
    bytes: int


class _Json(BaseModel, strict=True, alias_generator=to_camel):
    """An object of Delta's, in whose JSON names are in camel case."""


class _Metadata(_Json):
    id: str
    schema_string: str
    configuration: dict[str, str]


class _Domain(_Json):
    domain: str
    configuration: str
    removed: bool


class _Checksum(_Json):
    """What is read of the file."""

    metadata: _Metadata
    domain_metadata: list[_Domain]
    num_files: int
    table_size_bytes: int


class _Column(_Json):
    name: str
    metadata: dict[str, object]


class _Schema(_Json):
    fields: list[_Column]


class _Clustering(_Json):
    """What the domain of clustering is set to: each column by its path."""

    clustering_columns: list[list[str]]


def told(table: str) -> Detail | None:
    """The table now; None where there is none, or where its files do not tell: a catalog has it,
    this process cannot read them, its latest commit has no checksum file (yet), one that lacks
    something, or a damaged one."""
    content = _content(table)
    try:
        return None if content is None else _detail(_Checksum.model_validate_json(content))
    except ValidationError:
        return None


def _content(table: str) -> bytes | None:
    version = version_of(table)
    try:
        return None if version is None else stores.content(checksum_file(table, version))
    except Exception:  # each store's client has errors of its own: Spark may know the way
        return None


def _detail(checksum: _Checksum) -> Detail | None:
    metadata = checksum.metadata
    columns = _Schema.model_validate_json(metadata.schema_string).fields
    names = {_in_files(column, metadata.configuration): column.name for column in columns}
    paths = _clustering(checksum.domain_metadata)
    # By a field of a struct, which a path of more names is, gold's tables are not clustered.
    if not columns or any(len(path) != 1 or path[0] not in names for path in paths):
        return None
    return Detail(
        metadata.id,
        metadata.configuration,
        tuple(names[name] for (name,) in paths),
        checksum.num_files,
        checksum.table_size_bytes,
    )


def _in_files(column: _Column, properties: Mapping[str, str]) -> object:
    """A column's name in the table's files, by which the log has it."""
    mapped = properties.get(_MAPPING, "none") != "none"
    return column.metadata.get(_PHYSICAL, column.name) if mapped else column.name


def _clustering(domains: Sequence[_Domain]) -> list[list[str]]:
    """The paths of the columns that the table is clustered by."""
    for domain in domains:
        if domain.domain == _CLUSTERING and not domain.removed:
            return _Clustering.model_validate_json(domain.configuration).clustering_columns
    return []
