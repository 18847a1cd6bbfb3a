"""Settings of `binlake seed`: which tables get an initial snapshot, and how they are read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.settings.model import Model
from pipeline.settings.values import Location, Place


class SeedSettings(Model):
    """Which tables get an initial snapshot, and how it is read."""

    tables: tuple[str, ...] = ()
    """Patterns over `schema.table` of the tables to seed (`--table`). None: the tables whose rows
    gold does not have in full."""
    consistent: bool = False
    """Read all tables as of one moment, in one stream (`--consistent`)."""
    dump: Location | None = None
    """Read a dump, or CSV or Parquet files, instead of the server (`--from`)."""
    form: Literal["dump", "csv", "parquet"] = "dump"
    """What `dump` is (`--form`): a dump of mysqldump, mariadb-dump, MySQL Shell or mydumper, or
    files of one table."""
    create: Location | None = None
    """For CSV and Parquet: a file with the table's CREATE TABLE (`--create`)."""
    at: Place | None = None
    """The log position that the dump belongs to, if it does not record one (`--at`)."""
    chunk_rows: Annotated[int, Field(ge=100)] = 500_000
    """Rows that one Spark task reads at a time, and reads again if it fails."""
    parallel: Annotated[int, Field(ge=1, le=256)] = 4
    """How many chunks are read at once, each over its own connection."""
