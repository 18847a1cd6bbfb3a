"""Seed tables from a dump, whose rows are all as of one log position.

The position is recorded in the dump, or set by `seed.at`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import DataFrame

from decoder import TableDefinition, TypeOptions
from pipeline.errors import SettingsError
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.timeline.definitions_file import text_of
from pipeline.seed.dumps import (
    Chunk,
    Dump,
    DumpedTable,
    GivenTable,
    open_csv,
    open_dump,
    open_parquet,
)
from pipeline.seed.folder import SeedFolder, SeedProgress, fill, filled, under_way
from pipeline.seed.source_table import definition_of
from pipeline.seed.values import RowReader
from pipeline.settings import Settings
from pipeline.silver.plan.stored_seeds import LogCoordinates, Seed, new_id, staged_schema
from pipeline.source.server.version import server_number
from pipeline.spark.warm_kernels import OverBatches, warm_first

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


def read_dumped(run: LayerRun, dump: Dump, location: str, table: DumpedTable) -> Seed:
    """Read a table of the dump at `location`, or resume a recent attempt that did not finish.

    Raises SeedError and SettingsError.
    """
    name, options = TableName(table.schema, table.table), run.settings.type_options
    place = _place(run.settings, dump.place)
    definition = definition_of(name, table.statement, dump.server, table.sql_mode)
    table.require_readable(definition.columns)
    begun = _begun(run, name, location, table, place)

    def read(number: int) -> DataFrame:
        reading = rows_of(table.chunks[number], definition, options)
        once = run.session.range(0, 1, 1, 1)
        return once.mapInArrow(warm_first(reading), staged_schema(definition, options))

    fill(run, name, begun, read)
    # MariaDB's dumps have only each domain's last GTID.
    is_mariadb = server_number(dump.server)[1]
    return filled(
        run,
        name,
        begun,
        definition,
        last=place,
        exact=True,
        server=dump.server,
        sql_mode=table.sql_mode,
        gtids="" if is_mariadb else dump.gtids or "",
    )


def _begun(
    run: LayerRun, name: TableName, location: str, table: DumpedTable, place: LogCoordinates
) -> SeedProgress:
    types = run.settings.decoding["types"]
    parts = tuple(f"{chunk.name}:{chunk.size}" for chunk in table.chunks)
    wanted = SeedProgress(new_id(name), location, table.statement, *place, parts, types)
    same = {k: v for k, v in asdict(wanted).items() if k not in ("id", "at")}
    if begun := under_way(run.lake, run.source, name, **same):
        return begun
    SeedFolder(run.lake, run.source, wanted.id).begin(wanted)
    return wanted


def rows_of(chunk: Chunk, definition: TableDefinition, options: TypeOptions) -> OverBatches:
    """Return the function that reads a chunk on a Spark worker; it ignores the rows it is given."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            reader, rows = RowReader(definition, options), 0
            for cells in chunk.cells(definition.columns):
                found = reader.read_staged(cells, part=chunk.name, rows_before=rows)
                rows += found.num_rows
                yield found

    return read
