"""Take a snapshot of the settings' server over a separate connection.

The snapshot is the same file that the script writes, in the lake's scratch space, where all Spark
workers can read it; the rows' hashes and keys are beside it, in Parquet files that can be read in
parallel. As soon as its log position is known, and before any row is read, gold is requested to
publish a snapshot there (`pipeline.gold.plan.verification_points`).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.gold.plan.verification_points import VerificationPoint, requested_point
from pipeline.lake import stores
from pipeline.layer import LayerRun
from pipeline.observe.progress import Task
from pipeline.source.server.connection import ANSWER_SECONDS, connect, explained_errors
from pipeline.source.server.errors import ServerError
from pipeline.source.server.login import Login, login
from pipeline.verify.matching import GoldPosition, wait_for_server
from pipeline.verify.snapshot import Watcher, server_place, write_snapshot
from pipeline.verify.snapshot_columns import SnapshotTable, UnknownTypeError

if TYPE_CHECKING:
    from pymysql.connections import Connection

SNAPSHOT = "verify"
"""Prefix of snapshots' folders; the time follows, in seconds since 1970."""
KEPT_SECONDS = 2 * 24 * 60 * 60
SILENT_SECONDS = 24 * 60 * 60
"""Read timeout of the connection: reading a large table may take hours."""
PART_ROWS = 1 << 17
PART_BYTES = 16 << 20
"""The most rows of a file, and about the most bytes of its keys, held in memory until written."""
GROUP_ROWS = 1 << 13
SCHEMA = pa.schema(
    [
        pa.field("table", pa.int32()),
        pa.field("chunk", pa.int32()),
        pa.field("hash", pa.binary()),
        pa.field("key", pa.string()),
    ]
)
ORDER = [("table", "ascending"), ("chunk", "ascending")]
"""The order of each file's rows, so that reading a few chunks reads few of its row groups."""


class _Asking(Watcher):
    """Observer that shows the snapshot's progress, and asks gold to publish one at its position."""

    def __init__(
        self,
        run: LayerRun,
        ask: Callable[[Mapping[str, Any]], VerificationPoint],
        meanwhile: ExitStack,
    ) -> None:
        self._run = run
        self._wanted: VerificationPoint | None = None
        self._ask = ask
        self._meanwhile = meanwhile
        self._table = ExitStack()
        self._task: Task | None = None

    def begun(self, place: Mapping[str, Any]) -> None:
        """Request it before any row is read, or gold may pass the position meanwhile."""
        self._wanted = self._ask(place)
        self._meanwhile.enter_context(
            requested_point(self._run.lake, self._run.source, self._wanted)
        )

    @property
    def wanted(self) -> VerificationPoint:
        """The snapshot requested from gold. Raises ValueError before the server's has begun."""
        if self._wanted is None:
            raise ValueError("the snapshot has not begun")
        return self._wanted

    def reading(self, table: SnapshotTable, estimate: int) -> None:
        """Show the progress of this table from now on."""
        self.close()
        name = f"reading {table.schema}.{table.table}"
        self._task = self._table.enter_context(
            self._run.progress.task(name, estimate or None, "rows")
        )

    def read(self, rows: int) -> None:
        """Advance the table's progress."""
        if self._task is not None:
            self._task.advance(rows)

    def close(self) -> None:
        """Close the table's progress."""
        self._task = None
        self._table.close()


@contextmanager
def snapshot_of(
    run: LayerRun, began: GoldPosition, tables: Sequence[str], patience: float
) -> Iterator[tuple[str, VerificationPoint]]:
    """Take a snapshot of the server; yield its file, and the snapshot requested from gold.

    Both the file and the request are removed after the block.

    `tables`: patterns over `schema.table` within the tables that settings include. `began`: gold's
    position, which a replica has `patience` seconds to reach. Raises ServerError and SettingsError.
    """
    settings = run.settings
    scratch = f"{run.lake.staging}/{run.source}"
    folder = f"{scratch}/{SNAPSHOT}-{int(time.time())}-{uuid.uuid4().hex}"
    who = login(settings)
    with ExitStack() as meanwhile:
        _remove_leftovers(scratch)
        meanwhile.callback(stores.remove, folder)
        asking = _Asking(run, lambda place: began.wanted(place, who), meanwhile)
        path, rows_in = f"{folder}/snapshot.jsonl.gz", f"{folder}/rows"
        # The statements are short, so a lost server is detected by a short timeout.
        with _connected(who, ANSWER_SECONDS) as connection, connection.cursor() as cursor:
            # Refuse a server whose state cannot be determined before locking it.
            began.wanted(server_place(cursor), who)
            wait_for_server(run, began, partial(server_place, cursor), who, patience)
        with (
            _connected(who, SILENT_SECONDS) as connection,
            closing(asking),
            staged_rows(rows_in) as rows,
            stores.gzipped(path) as out,
        ):
            write_snapshot(
                connection,
                out,
                tables=tables,
                wanted=settings.wanted,
                zero_dates=settings.types.zero_dates,
                stream=partial(_stream, connection),
                watcher=asking,
                rows_in=rows_in,
                keep=rows.keep,
            )
        yield path, asking.wanted


def _remove_leftovers(folder: str) -> None:
    """Remove the snapshots of killed runs: none is in use for KEPT_SECONDS."""
    for name in stores.names_in(folder):
        kind, _, rest = name.partition("-")
        began = rest.partition("-")[0]
        if kind == SNAPSHOT and began.isdigit() and int(began) + KEPT_SECONDS < time.time():
            stores.remove(f"{folder}/{name}")


@contextmanager
def _connected(who: Login, silent: int) -> Iterator[Connection[Any]]:
    """Connect; every value is returned as the bytes that the server sends, without driver types.

    `silent`: read timeout in seconds. Errors of the server inside the block become ServerError.
    """
    from pymysql.converters import encoders

    connection = connect(who, use_unicode=False, conv={**encoders}, read_timeout=silent)
    with connection, explained_errors(who):
        try:
            yield connection
        except UnknownTypeError as error:
            remedy = "Exclude the table in the settings, or choose other tables with --table."
            raise ServerError(
                f"{error}", address=who.address, user=who.user, remedy=remedy
            ) from error


def _stream(connection: Connection[Any]) -> Any:
    """Return an unbuffered cursor."""
    from pymysql.cursors import SSCursor

    return connection.cursor(SSCursor)


class StagedRows:
    """Writer of rows to Parquet files. `close` writes the last file; at least one is written."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._parts = 0
        self._rows: list[tuple[int, int, bytes, str]] = []
        self._bytes = 0

    def keep(self, number: int, chunk: int, digest: bytes, key: str) -> None:
        """Add a row: the number of its table, its chunk, hash, and key as JSON."""
        self._rows.append((number, chunk, digest, key))
        self._bytes += len(key)
        if len(self._rows) >= PART_ROWS or self._bytes >= PART_BYTES:
            self._write()

    def close(self) -> None:
        """Write the remaining rows."""
        if self._rows or not self._parts:
            self._write()

    def _write(self) -> None:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(SCHEMA)
        arrays = [
            pa.array(values, type) for values, type in zip(columns, SCHEMA.types, strict=True)
        ]
        rows = pa.Table.from_arrays(arrays, schema=SCHEMA).sort_by(ORDER)
        with stores.binary(f"{self._folder}/part-{self._parts:05}.parquet") as out:
            pq.write_table(rows, out, row_group_size=GROUP_ROWS)
        self._parts += 1
        self._rows, self._bytes = [], 0


@contextmanager
def staged_rows(folder: str) -> Iterator[StagedRows]:
    """Return a writer of rows to the folder; all are written after the block."""
    rows = StagedRows(folder)
    yield rows
    rows.close()
