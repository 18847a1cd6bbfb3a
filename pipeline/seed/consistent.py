"""Read tables in one consistent snapshot at a single log position, over a single connection.

For keyless tables, and for servers whose row images leave columns out: changes can be applied to
these only if all rows are from the same moment. MySQL is locked only while the log position is read
(FLUSH TABLES WITH READ LOCK, which times out after some seconds); MariaDB is not locked at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from pipeline.layer import LayerRun
from pipeline.seed.folder import SeedFolder
from pipeline.seed.server import SourceServer
from pipeline.seed.source_table import NotSeedableError, SourceTable
from pipeline.seed.values import RowReader
from pipeline.silver.plan.stored_seeds import Seed, new_id
from pipeline.source.server.connection import connect, explained_errors, queried
from pipeline.source.server.log_position import LogPosition, LogPositions
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion
from pipeline.verify.snapshot import CHANGED, SESSION

BATCH_BYTES = 16 << 20
BATCH_ROWS = 1 << 16
SILENT_SECONDS = 24 * 60 * 60
"""Read timeout of the connection: reading a large table may take hours."""


class ConsistentSnapshot:
    """A transaction that sees all tables as of the log position `place`.

    `log`: the fields of `Seed` that identify the log.
    """

    def __init__(self, connection: Any, place: LogPosition, log: dict[str, Any]) -> None:
        self.place = place
        self.log = log
        self._connection = connection

    def rows(self, table: SourceTable, reader: RowReader) -> Iterator[pa.RecordBatch]:
        """Yield a table's rows, staged, in batches of about 16 MiB. Raises NotSeedableError."""
        import pymysql
        from pymysql.cursors import SSCursor

        read = 0
        with self._connection.cursor(SSCursor) as cursor:
            try:
                cursor.execute(table.select())
            except pymysql.MySQLError as error:
                if error.args and error.args[0] in CHANGED:
                    raise NotSeedableError(
                        table.name, f"it was altered while it was read ({error.args[-1]})"
                    ) from error
                raise
            for rows in _batches(cursor):
                cells = [pa.array(column, pa.binary()) for column in zip(*rows, strict=True)]
                yield reader.read_staged(cells, rows_before=read)
                read += len(rows)


def copy_table(
    run: LayerRun, server: SourceServer, found: ConsistentSnapshot, table: SourceTable
) -> Seed:
    """Copy a table's rows from the snapshot into the lake. Raises NotSeedableError."""
    if not table.transactional:
        raise NotSeedableError(
            table.name,
            "its storage engine does not support a consistent snapshot",
            "Run ALTER TABLE … ENGINE = InnoDB, or seed it from a dump taken while nothing writes.",
        )
    folder = SeedFolder(run.lake, run.source, new_id(table.name))
    reader = RowReader(table.definition, run.settings.type_options)
    rows = folder.write(0, reader.staged, found.rows(table, reader))
    return Seed(
        id=folder.id,
        schema=table.name.schema,
        table=table.name.table,
        query=table.query,
        first=found.place,
        last=found.place,
        exact=True,
        rows=rows,
        server=server.version.text,
        types=run.settings.decoding["types"],
        cascades_logged=server.logs_cascades,
        parts=folder.parts(table.name, 1),
        **found.log,
    )


@contextmanager
def snapshot(login: Login, version: ServerVersion) -> Iterator[ConsistentSnapshot]:
    """Start a consistent snapshot on a new connection. Raises ServerError."""
    from pymysql.converters import encoders

    # Keep every value as the bytes that the server sends: driver types would round some.
    connection = connect(
        login, use_unicode=False, conv={**encoders}, autocommit=False, read_timeout=SILENT_SECONDS
    )
    with connection, explained_errors(login):
        for statement in SESSION:
            queried(connection, statement)
        places = LogPositions(connection, version, login)
        place, gtids = _begin(connection, places, version)
        log = {**places.log_identity(), "gtids": gtids}
        yield ConsistentSnapshot(connection, place, log)


def _begin(
    connection: Any, places: LogPositions, version: ServerVersion
) -> tuple[LogPosition, str]:
    """Start the snapshot. Return its log position and the GTIDs executed by then."""
    if version.is_mariadb:
        gtids = places.executed()
        return places.begin_snapshot(), gtids
    queried(connection, "FLUSH TABLES WITH READ LOCK")
    try:
        queried(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        return places.end(), places.executed()
    finally:
        queried(connection, "UNLOCK TABLES")


def _batches(cursor: Any) -> Iterator[Sequence[tuple[bytes | None, ...]]]:
    """Yield lists of rows, up to BATCH_BYTES or BATCH_ROWS each."""
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
