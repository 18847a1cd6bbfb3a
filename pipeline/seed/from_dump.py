"""Seed tables from a dump, whose rows are all as of one log position.

The position is recorded in the dump, or set by `seed.at`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from decoder import TableDefinition, TypeOptions
from pipeline.catalog import TableName
from pipeline.catalog.timeline.start import text_of
from pipeline.errors import SettingsError
from pipeline.lake.starting import started
from pipeline.seed.dumps.given import GivenTable, open_csv, open_parquet
from pipeline.seed.dumps.model import Chunk, Dump, DumpedTable
from pipeline.seed.dumps.open import open_dump
from pipeline.seed.filling import Filling
from pipeline.seed.folder import Begun, SeedFolder, begun_now, under_way
from pipeline.seed.source_table import definition_of
from pipeline.seed.values.rows import row_reader
from pipeline.settings import Settings
from pipeline.silver.plan.seeds import LogCoordinates, Seed, staged_schema
from pipeline.source.server.version import server_number
from pipeline.spark.warm_kernels import Batches, warm_first

_GIVEN = {"csv": open_csv, "parquet": open_parquet}


def open_configured_dump(settings: Settings) -> Dump:
    """Open the dump at `seed.dump`. Raises DumpError and SettingsError."""
    seed = settings.seed
    if seed.dump is None:
        raise SettingsError("is not set.", key="seed.dump")
    if seed.form == "dump":
        return open_dump(seed.dump)
    if seed.create is None or len(seed.tables) != 1 or "." not in seed.tables[0]:
        raise SettingsError(
            f"is needed: {seed.form} does not contain the table's definition.",
            key="seed.create",
            remedy="Pass --create, a file with the CREATE TABLE, and --table schema.table.",
        )
    schema = seed.tables[0].partition(".")[0]
    table = GivenTable(schema, text_of(seed.create), _place(settings, None))
    return _GIVEN[seed.form](seed.dump, table)


def _place(settings: Settings, recorded: LogCoordinates | None) -> LogCoordinates:
    """Return the log position: `seed.at`, or the dump's own. Raises SettingsError without one."""
    if settings.seed.at is not None:
        file, _, position = settings.seed.at.rpartition(":")
        return file, int(position)
    if recorded is None:
        raise SettingsError(
            "is not set, and the dump does not record its log position.",
            key="seed.at",
            remedy="Pass --at FILE:POSITION, or dump again with --source-data=2 (--master-data=2).",
        )
    return recorded


@dataclass(frozen=True)
class DumpReader:
    """Reader of a dump's tables; `location` identifies the dump."""

    filling: Filling
    dump: Dump
    location: str

    def seed(self, table: DumpedTable) -> Seed:
        """Read a table, or resume a recent attempt that did not finish.

        Raises SeedError and SettingsError.
        """
        settings, name = self.filling.settings, TableName(table.schema, table.table)
        place = _place(settings, self.dump.place)
        definition = definition_of(name, table.statement, self.dump.server, table.sql_mode)
        table.require_readable(definition.columns)
        begun = self._begun(name, table, place)

        def read(number: int) -> DataFrame:
            reading = rows_of(table, table.chunks[number], definition, settings.type_options)
            once = started(self.filling.spark).range(0, 1, 1, 1)
            staged = staged_schema(definition, settings.type_options)
            return once.mapInArrow(warm_first(reading), staged)

        folder = self.filling.fill(name, begun, read)
        parts = folder.parts(name, len(begun.chunks))
        return Seed(
            id=begun.id,
            schema=table.schema,
            table=table.table,
            query=table.statement,
            first=place,
            last=place,
            exact=True,
            rows=self.filling.count(folder, parts, definition) if parts else 0,
            server=self.dump.server,
            sql_mode=table.sql_mode,
            types=begun.types,
            parts=parts,
            gtids=self._gtids,
        )

    @property
    def _gtids(self) -> str:
        """The executed GTID set; empty for MariaDB, whose dumps have only each domain's last."""
        is_mariadb = server_number(self.dump.server)[1]
        return "" if is_mariadb else self.dump.gtids or ""

    def _begun(self, name: TableName, table: DumpedTable, place: LogCoordinates) -> Begun:
        settings = self.filling.settings
        lake, source, types = settings.layout, settings.source, settings.decoding["types"]
        parts = tuple(f"{chunk.name}:{chunk.size}" for chunk in table.chunks)
        wanted = begun_now(name, self.location, table.statement, place, parts, types, {})
        same = {k: v for k, v in asdict(wanted).items() if k not in ("id", "at")}
        if begun := under_way(lake, source, name, **same):
            return begun
        begun = wanted
        SeedFolder(lake, source, begun.id).begin(begun)
        return begun


def rows_of(
    table: DumpedTable, chunk: Chunk, definition: TableDefinition, options: TypeOptions
) -> Batches:
    """Return the function that reads a chunk on a Spark worker; it ignores the rows it is given."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            reader, rows = row_reader(definition, options), 0
            for cells in chunk.cells(definition.columns):
                found = reader.read(cells, part=chunk.name, rows_before=rows)
                rows += found.num_rows
                names = [f"c{n}" for n in range(found.num_columns)]
                yield pa.RecordBatch.from_arrays(found.columns, names=names)

    return read
