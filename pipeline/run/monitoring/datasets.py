"""The datasets that a layer read and wrote in a run, by OpenLineage's naming rules.

Source: https://openlineage.io/docs/spec/naming. Tables of the source are `mysql://host:port` and
`schema.table`; files and Delta tables are their store and path, tables in a catalog the catalog's
name and `schema.table`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from decoder import TableDefinition
from decoder.columns import row_type
from decoder.errors import UnsupportedError
from pipeline.gold import GoldState
from pipeline.gold.table.names import COMMITTED_AT, LSN, gold_name
from pipeline.gold.table.state import TableState
from pipeline.lake import Ledger
from pipeline.lake.lazy_spark import Spark
from pipeline.observe.current_run import FinishedBatch
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import in_force
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.settings import Settings
from pipeline.settings.server import ServerUrl
from pipeline.silver.decode.silver_tables import changes_table
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.source.server.login import LOCAL, URL_VARIABLE

_QUOTED = re.compile("`((?:[^`]|``)*)`")
_WILDCARD = re.compile(r"[*?\[]")
_STORES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}
"""Schemes that name the same store as another, which OpenLineage uses."""
_BUCKETS = ("s3", "gs")
"""Stores whose names are keys, without a leading slash."""


@dataclass(frozen=True, slots=True)
class LineageDataset:
    """A dataset that was read or written, with what a layer knows about it.

    `columns`: for each of its columns the columns that it comes from, as (namespace, name, column).
    `rows`, `bytes`, `files`: what was read or written. `version`: Delta's.
    """

    namespace: str
    name: str
    schema: pa.Schema | None = None
    columns: Mapping[str, Sequence[tuple[str, str, str]]] = field(default_factory=dict)
    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class LayerDatasets:
    """The datasets that a layer read and wrote."""

    inputs: tuple[LineageDataset, ...] = ()
    outputs: tuple[LineageDataset, ...] = ()


def datasets_of(
    spark: Spark, settings: Settings, layer: str, finished: Sequence[FinishedBatch]
) -> LayerDatasets:
    """Return the datasets of the batches that a run finished in a layer. Reads the ledger."""
    own = [batch for batch in finished if batch.layer == layer]
    if layer == "bronze":
        return _of_bronze(settings, own)
    if layer == "silver":
        return _of_silver(spark, settings, own)
    return _of_gold(spark, settings, own) if layer == "gold" else LayerDatasets()


def place_of(reference: str) -> LineageDataset:
    """Return the dataset of a path, a URL, or a quoted name in a catalog."""
    if reference.startswith("`"):
        names = _QUOTED.findall(reference)
        catalog, *inside = (name.replace("``", "`") for name in names)
        return LineageDataset(catalog, ".".join(inside))
    scheme, colon, rest = reference.partition("://")
    if not colon or scheme == "file":
        return LineageDataset("file", os.path.abspath(rest if colon else reference))
    authority, _, path = rest.partition("/")
    scheme = _STORES.get(scheme, scheme)
    if scheme in ("abfss", "wasbs"):
        return LineageDataset(f"{scheme}://{authority}", f"/{path}")
    # User and password are not part of a name.
    host = authority.rpartition("@")[2]
    return LineageDataset(f"{scheme}://{host}", path if scheme in _BUCKETS else f"/{path}")


def source_namespace(settings: Settings, environment: Mapping[str, str] = os.environ) -> str:
    """Return the namespace of the source's tables: its server's, or the source's name if the
    settings name no server."""
    server, url = settings.server, settings.server.url or environment.get(URL_VARIABLE)
    if url:
        try:
            place = ServerUrl.read(url)
        except ValueError:
            return f"mysql://{settings.source}"
        return f"mysql://{place.host}:{place.port}"
    host = server.host or (LOCAL if server.socket is not None else None)
    return f"mysql://{host}:{server.port}" if host else f"mysql://{settings.source}"


def _folder_of(location: str) -> str:
    """Return the folder in which a glob begins; any other location unchanged."""
    begins = _WILDCARD.search(location)
    return location if begins is None else location[: begins.start()].rpartition("/")[0] or "."


def _of_bronze(settings: Settings, finished: Sequence[FinishedBatch]) -> LayerDatasets:
    done = _sums(batch.record for batch in finished)
    places = [settings.binlogs] if isinstance(settings.binlogs, str) else settings.binlogs
    inputs = [place_of(_folder_of(place)) for place in places]
    if len(inputs) == 1:
        inputs = [replace(inputs[0], bytes=done["bytes"], files=done["files"])]
    segments = place_of(settings.layout.segments)
    output = replace(segments, rows=done["segments"], bytes=done["bytes"])
    return LayerDatasets(tuple(inputs), (output,))


def _of_silver(
    spark: Spark, settings: Settings, finished: Sequence[FinishedBatch]
) -> LayerDatasets:
    ledger = Ledger(spark, settings.layout, settings.source)
    rows: Counter[str] = Counter()
    written: dict[tuple[str, int], TableDefinition] = {}
    for batch in finished:
        rows.update(batch.record.get("rows") or {})
        found = ledger.finished("silver", batch.batch)
        if found is not None:
            for table in SilverPlan.from_body(found[0].body).tables:
                written[str(table.definition), table.version] = table.definition
    written = {key: table for key, table in written.items() if rows[key[0]]}
    versions = Counter(name for name, _ in written)
    sources = {name: _source_table(settings, table) for (name, _), table in written.items()}
    outputs = [
        # Several versions of a table share one count.
        replace(
            _changes(settings, table, version, sources[name]),
            rows=rows[name] if versions[name] == 1 else None,
        )
        for (name, version), table in written.items()
    ]
    transactions = place_of(settings.layout.transactions)
    inputs = (place_of(settings.layout.segments), *sources.values())
    return LayerDatasets(inputs, (transactions, *outputs))


def _of_gold(spark: Spark, settings: Settings, finished: Sequence[FinishedBatch]) -> LayerDatasets:
    transactions = place_of(settings.layout.transactions)
    inputs = {transactions.name: transactions}
    outputs: dict[str, LineageDataset] = {}
    definitions = _Definitions.read(spark, settings) if finished else _Definitions({}, ())
    ledger = Ledger(spark, settings.layout, settings.source)
    for batch in finished:
        found = ledger.finished("gold", batch.batch)
        state = GoldState() if found is None else GoldState.after(*found)
        tables = {str(name): table for name, table in state.tables.items()}
        for name in batch.record.get("changes") or {}:
            if name in tables:
                silver = definitions.silver_tables(settings, tables[name])
                inputs |= {one.name: one for one in silver}
                output = _gold_table(settings, tables[name], definitions, silver)
                outputs[name] = _with_figures(output, outputs.get(name), name, batch.record)
    cuts = place_of(settings.layout.cuts)
    return LayerDatasets(tuple(inputs.values()), (cuts, *outputs.values()))


@dataclass(frozen=True, slots=True)
class _Definitions:
    """The definitions of silver's tables, and the LSNs from which each is in use."""

    by_version: Mapping[tuple[TableName, int], TableDefinition]
    begins: Sequence[tuple[TableName, int, int]]

    @classmethod
    def read(cls, spark: Spark, settings: Settings) -> _Definitions:
        items = [
            item
            for item in in_force(read_items(spark, settings.layout, settings.source))
            if item.version is not None and item.definition is not None
        ]
        return cls(
            {(item.name, item.version or 0): item.definition for item in items if item.definition},
            [(item.name, item.version or 0, item.lsn) for item in items],
        )

    def silver_tables(self, settings: Settings, table: TableState) -> list[LineageDataset]:
        """Return the tables of changes that a batch reads for a table."""
        versions = {
            version
            for name, version, lsn in self.begins
            if name == table.name and table.from_lsn < lsn <= table.to_lsn
        } | ({table.version} if table.version is not None else set())
        return [
            _changes(settings, definition, version, None)
            for version in sorted(versions)
            if (definition := self.by_version.get((table.name, version))) is not None
        ]


def _source_table(settings: Settings, table: TableDefinition) -> LineageDataset:
    rows = _row_type(settings, table)
    schema = None if rows is None else pa.schema(rows)
    return LineageDataset(source_namespace(settings), str(table), schema)


def _changes(
    settings: Settings, table: TableDefinition, version: int, source: LineageDataset | None
) -> LineageDataset:
    """Return silver's table of changes, whose images come from the source's table."""
    dataset = place_of(settings.layout.changes(table.schema, table.table, version))
    if _row_type(settings, table) is None:
        return dataset
    schema = changes_table(settings.layout, table, version, settings.type_options).schema
    if source is None:
        return replace(dataset, schema=schema)
    origins = {
        f"{image}.{column.name}": [(source.namespace, source.name, column.name)]
        for image in ("before", "after")
        for column in table.columns
    }
    return replace(dataset, schema=schema, columns=origins)


def _gold_table(
    settings: Settings,
    table: TableState,
    definitions: _Definitions,
    silver: Sequence[LineageDataset],
) -> LineageDataset:
    dataset = place_of(gold_name(settings, table.schema, table.table))
    definition = definitions.by_version.get((table.name, table.version or 0))
    rows = None if definition is None else _row_type(settings, definition)
    if rows is None:
        return dataset
    own = [pa.field(LSN, pa.int64()), pa.field(COMMITTED_AT, pa.timestamp("us", "UTC"))]
    origins: dict[str, list[tuple[str, str, str]]] = {}
    for one in silver:
        logged = set(_image_columns(one))
        for column in rows:
            if column.name in logged:
                place = (one.namespace, one.name, f"after.{column.name}")
                origins.setdefault(column.name, []).append(place)
        for column in own:
            place = (one.namespace, one.name, column.name)
            origins.setdefault(column.name, []).append(place)
    return replace(dataset, schema=pa.schema([*rows, *own]), columns=origins)


def _image_columns(silver: LineageDataset) -> Iterator[str]:
    if silver.schema is not None:
        yield from (column.name for column in silver.schema.field("after").type)


def _with_figures(
    dataset: LineageDataset,
    before: LineageDataset | None,
    name: str,
    record: Mapping[str, Any],
) -> LineageDataset:
    """Return gold's table with the figures of one more batch."""
    written = (record.get("written") or {}).get(name) or {}
    figures = {
        "rows": record["changes"][name],
        "bytes": written.get("bytes_added", 0),
        "files": written.get("files_added", 0),
    }
    if before is not None:
        figures = {key: value + (getattr(before, key) or 0) for key, value in figures.items()}
    entries = (record.get("cut") or {}).get("tables") or ()
    versions = {f"{one['schema']}.{one['table']}": one["delta_version"] for one in entries}
    version = versions.get(name)
    return replace(dataset, **figures, version=None if version is None else str(version))


def _row_type(settings: Settings, table: TableDefinition) -> pa.StructType | None:
    """Return the type of a table's rows; None if a column's type is not supported."""
    try:
        return row_type(table, settings.type_options)
    except UnsupportedError:
        return None


def _sums(records: Iterator[Mapping[str, Any]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for record in records:
        total.update({name: record.get(name) or 0 for name in ("files", "bytes", "segments")})
    return total
