"""Settings of `binlake seed`: which tables get an initial snapshot, and how they are read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.settings.model import Model
from pipeline.settings.values import Location, Place


class SeedSettings(Model):
    """`tables` are patterns over `schema.table`; without any, those are seeded that gold lacks.

    `consistent`: all of them as they were at one moment, in one stream, whatever they are.
    `dump` is a path or URL that they are read from instead of the server: by `form` a dump (of
    mysqldump, mariadb-dump, MySQL Shell or mydumper), or files of one table, whose CREATE TABLE is
    in the file `create`. `at` is the place in the log that it is of (`binlog.000007:154`), where it
    does not tell.
    `chunk_rows` is how many rows are read at a time, by one Spark task, and read again if that
    fails; `parallel` is how many chunks are read at once, each over a connection of its own.
    """

    tables: tuple[str, ...] = ()
    consistent: bool = False
    dump: Location | None = None
    form: Literal["dump", "csv", "parquet"] = "dump"
    create: Location | None = None
    at: Place | None = None
    chunk_rows: Annotated[int, Field(ge=100)] = 500_000
    parallel: Annotated[int, Field(ge=1, le=256)] = 4
