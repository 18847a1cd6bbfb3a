"""Take a snapshot of the settings' server over a connection of our own.

The snapshot is the same file that the script writes, in the lake's scratch space, where all Spark
workers can read it. As soon as its log position is known, and before any row is read, gold is
requested to publish a cut there (`pipeline.gold.plan.verification_points`).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline.gold.plan.verification_points import Wanted, halt
from pipeline.lake import stores
from pipeline.observe import Progress
from pipeline.observe.progress import Task
from pipeline.settings import Settings
from pipeline.source.server.connection import ANSWER_SECONDS, asked, connect
from pipeline.source.server.errors import ServerError
from pipeline.source.server.login import Login, login
from pipeline.verify.snapshot import Watcher, server_place, write_snapshot
from pipeline.verify.snapshot_columns import SourceTable, UnknownTypeError
from pipeline.verify.staged_rows import staged_rows
from pipeline.verify.state_match.way import GoldPosition, wait_for_server

if TYPE_CHECKING:
    from pymysql.connections import Connection

SNAPSHOT = "verify"
"""Prefix of snapshots' folders; the time follows, in seconds since 1970."""
KEPT_SECONDS = 2 * 24 * 60 * 60
SILENT_SECONDS = 24 * 60 * 60
"""Read timeout of the connection: reading a large table may take hours."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot: the path of its file, and the cut requested from gold."""

    path: str
    wanted: Wanted


class _Asking(Watcher):
    """Shows the snapshot's progress, and requests a cut from gold at its position."""

    def __init__(
        self,
        settings: Settings,
        ask: Callable[[Mapping[str, Any]], Wanted],
        progress: Progress,
        meanwhile: ExitStack,
    ) -> None:
        self._settings = settings
        self._wanted: Wanted | None = None
        self._ask = ask
        self._progress = progress
        self._meanwhile = meanwhile
        self._table = ExitStack()
        self._task: Task | None = None

    def begun(self, place: Mapping[str, Any]) -> None:
        """Request the cut before any row is read, or gold may pass the position meanwhile."""
        lake, source = self._settings.layout, self._settings.source
        self._wanted = self._ask(place)
        self._meanwhile.enter_context(halt(lake, source, self._wanted))

    @property
    def wanted(self) -> Wanted:
        """The cut requested from gold. Raises ValueError before the snapshot has begun."""
        if self._wanted is None:
            raise ValueError("the snapshot has not begun")
        return self._wanted

    def reading(self, table: SourceTable, estimate: int) -> None:
        """Show the progress of this table from now on."""
        self.ended()
        name = f"read {table.schema}.{table.table}"
        self._task = self._table.enter_context(self._progress.task(name, estimate or None, "rows"))

    def read(self, rows: int) -> None:
        """Advance the table's progress."""
        if self._task is not None:
            self._task.advance(rows)

    def ended(self) -> None:
        """Close the table's progress."""
        self._task = None
        self._table.close()


@contextmanager
def snapshot_of(
    settings: Settings,
    began: GoldPosition,
    tables: Sequence[str],
    patience: float,
    progress: Progress,
) -> Iterator[Taken]:
    """Take a snapshot of the server; it and the request to gold are removed after the block.

    `tables`: patterns over `schema.table` within the tables that settings include. `began`: gold's
    position, which a replica has `patience` seconds to reach. Raises ServerError and SettingsError.
    """
    scratch = f"{settings.layout.staging}/{settings.source}"
    folder = f"{scratch}/{SNAPSHOT}-{int(time.time())}-{uuid.uuid4().hex}"
    who = login(settings)
    with ExitStack() as meanwhile:
        _remove_leftovers(scratch)
        meanwhile.callback(stores.remove, folder)
        asking = _Asking(settings, lambda at: began.wanted(at, who), progress, meanwhile)
        path, rows_in = f"{folder}/snapshot.jsonl.gz", f"{folder}/rows"
        # The statements are short, so a lost server is detected by a short timeout.
        with _connected(who, ANSWER_SECONDS) as connection, connection.cursor() as cursor:
            # Refuse a server whose state cannot be determined before locking it.
            began.wanted(server_place(cursor), who)
            wait_for_server(began, partial(server_place, cursor), who, patience, progress)
        with (
            _connected(who, SILENT_SECONDS) as connection,
            _closing(asking),
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
        yield Taken(path, asking.wanted)


@contextmanager
def _closing(asking: _Asking) -> Iterator[None]:
    """Close the table's progress after the block, also on an error."""
    try:
        yield
    finally:
        asking.ended()


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
    with connection, asked(who):
        try:
            yield connection
        except UnknownTypeError as error:
            remedy = "Exclude the table in the settings, or choose other tables with --tables."
            raise ServerError(
                f"{error}", address=who.address, user=who.user, remedy=remedy
            ) from error


def _stream(connection: Connection[Any]) -> Any:
    """Return an unbuffered cursor."""
    from pymysql.cursors import SSCursor

    return connection.cursor(SSCursor)
