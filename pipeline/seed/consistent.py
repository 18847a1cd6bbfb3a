"""Reading tables as they all were at one place in the log, in one stream, over a single connection.

For tables without a key, and for servers whose row images leave columns out: of these only rows of
one moment can be brought up to date. MySQL is locked for as long as it takes to ask for the log's
position (FLUSH TABLES WITH READ LOCK, given up where it is not had within some seconds), MariaDB
not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from decoder import TypeOptions
from decoder.columns.registry import row_type
from pipeline.seed.folder import SeedFolder
from pipeline.seed.server import SourceServer
from pipeline.seed.source_table import NotSeedableError, SourceTable
from pipeline.seed.values.rows import row_reader
from pipeline.settings import Settings
from pipeline.silver.plan.seeds import Seed, new_id
from pipeline.source.server.connection import asked, connect
from pipeline.source.server.log_place import LogPlace, Places
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion
from pipeline.verify.snapshot import CHANGED, SESSION

BATCH_BYTES = 16 << 20
BATCH_ROWS = 1 << 16
SILENT_SECONDS = 24 * 60 * 60
"""The longest that a statement may take: a large table is read for as long as it takes."""


class Snapshot:
    """A transaction that sees all tables as they were at `place`; `log` tells that (see `Seed`)."""

    def __init__(
        self, connection: Any, place: LogPlace, log: dict[str, Any], options: TypeOptions
    ) -> None:
        self.place = place
        self.log = log
        self._connection = connection
        self._options = options

    def schema(self, table: SourceTable) -> pa.Schema:
        """The columns c0, c1, … of a table's rows, with the types of silver's images."""
        types = row_type(table.definition, self._options)
        return pa.schema([pa.field(f"c{n}", field.type) for n, field in enumerate(types)])

    def rows(self, table: SourceTable) -> Iterator[pa.RecordBatch]:
        """A table's rows, by some megabytes. Raises NotSeedableError."""
        import pymysql
        from pymysql.cursors import SSCursor

        reader, schema = row_reader(table.definition, self._options), self.schema(table)
        read = 0
        with self._connection.cursor(SSCursor) as cursor:
            try:
                cursor.execute(table.select())
            except pymysql.MySQLError as error:
                if error.args and error.args[0] in CHANGED:
                    raise NotSeedableError(
                        table.name, f"it was changed meanwhile ({error.args[-1]})", "Seed it again."
                    ) from error
                raise
            for rows in _portions(cursor):
                cells = [pa.array(column, pa.binary()) for column in zip(*rows, strict=True)]
                found = reader.read(cells, rows_before=read)
                read += len(rows)
                yield pa.RecordBatch.from_arrays(found.columns, schema=schema)


def copied(settings: Settings, server: SourceServer, found: Snapshot, table: SourceTable) -> Seed:
    """A table's rows of the snapshot, put into the lake. Raises NotSeedableError."""
    if not table.transactional:
        raise NotSeedableError(
            table.name,
            "its engine takes no part in a consistent snapshot",
            "ALTER TABLE … ENGINE = InnoDB, or take a dump of it while nobody writes.",
        )
    folder = SeedFolder(settings.layout, settings.source, new_id(table.name))
    counter = Counter[str]()

    def counted() -> Iterator[pa.RecordBatch]:
        for batch in found.rows(table):
            counter["rows"] += batch.num_rows
            yield batch

    schema = found.schema(table)
    folder.write(0, schema, counted())
    return Seed(
        id=folder.id,
        schema=table.name.schema,
        table=table.name.table,
        query=table.query,
        first=found.place,
        last=found.place,
        exact=True,
        rows=counter["rows"],
        server=server.version.text,
        types=settings.decoding["types"],
        cascades_logged=server.logs_cascades,
        parts=folder.parts(table.name, 1),
        **found.log,
    )


@contextmanager
def snapshot(login: Login, version: ServerVersion, options: TypeOptions) -> Iterator[Snapshot]:
    """Begin one. Raises ServerError."""
    from pymysql.converters import encoders

    # Every value as the bytes that the server sends: no driver's types, nothing rounded.
    connection = connect(
        login, use_unicode=False, conv={**encoders}, autocommit=False, read_timeout=SILENT_SECONDS
    )
    with connection, asked(login):
        with connection.cursor() as cursor:
            for statement in SESSION:
                cursor.execute(statement)
        places = Places(connection, version, address=login.address, user=login.user)
        place, gtids = _begin(connection, places, version)
        log = {**places.log_now(), "gtids": gtids}
        yield Snapshot(connection, place, log, options)


def _begin(connection: Any, places: Places, version: ServerVersion) -> tuple[LogPlace, str]:
    """The snapshot's place, and the GTIDs of what was executed by then."""
    if version.is_mariadb:
        gtids = places.executed()
        return places.begin_snapshot(), gtids
    with connection.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        try:
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            return places.end(), places.executed()
        finally:
            cursor.execute("UNLOCK TABLES")


def _portions(cursor: Any) -> Iterator[Sequence[tuple[bytes | None, ...]]]:
    """Rows by some megabytes: the driver holds one more."""
    held: list[tuple[bytes | None, ...]] = []
    size = 0
    while (row := cursor.fetchone()) is not None:
        held.append(row)
        size += sum(len(cell) for cell in row if cell is not None)
        if size > BATCH_BYTES or len(held) == BATCH_ROWS:
            yield held
            held, size = [], 0
    if held:
        yield held
