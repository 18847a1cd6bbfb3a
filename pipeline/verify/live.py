"""A snapshot of the server that settings name, taken over a connection of our own.

It is the file that the script makes, in the lake's scratch space, where all of Spark's workers can
read it. As soon as its place in the log is known, and before any row is read, gold is asked to
publish a cut there (`pipeline.gold.plan.verification_points`).
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
from pipeline.verify.state_match.way import GoldStanding, wait_until_it_has

if TYPE_CHECKING:
    from pymysql.connections import Connection

SNAPSHOT = "verify"
"""What the names of snapshots begin with; the time behind it, in seconds since 1970."""
KEPT_SECONDS = 2 * 24 * 60 * 60
SILENT_SECONDS = 24 * 60 * 60
"""The longest that a statement may take: a large table is read for as long as it takes."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot: the path of its file, and what gold was asked for."""

    path: str
    wanted: Wanted


class _Asking(Watcher):
    """Shows how far the snapshot is, and asks gold for a cut where it is, until it is closed."""

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
        """Before any row is read: gold may come over the place meanwhile."""
        lake, source = self._settings.layout, self._settings.source
        self._wanted = self._ask(place)
        self._meanwhile.enter_context(halt(lake, source, self._wanted))

    @property
    def wanted(self) -> Wanted:
        """What gold was asked for. Raises ValueError before the snapshot has begun."""
        if self._wanted is None:
            raise ValueError("the snapshot has not begun")
        return self._wanted

    def reading(self, table: SourceTable, estimate: int) -> None:
        """The table's rows are shown from now on."""
        self.ended()
        name = f"read {table.schema}.{table.table}"
        self._task = self._table.enter_context(self._progress.task(name, estimate or None, "rows"))

    def read(self, rows: int) -> None:
        """Some more."""
        if self._task is not None:
            self._task.advance(rows)

    def ended(self) -> None:
        """No table's rows are shown any more."""
        self._task = None
        self._table.close()


@contextmanager
def snapshot_of(
    settings: Settings,
    began: GoldStanding,
    tables: Sequence[str],
    patience: float,
    progress: Progress,
) -> Iterator[Taken]:
    """A snapshot of the server, which is gone behind the block, as is what gold was asked.

    `tables`: patterns over `schema.table`, of the tables that settings want. `began`: where gold
    is, which a replica is given so many seconds to come to. Raises ServerError and SettingsError.
    """
    scratch = f"{settings.layout.staging}/{settings.source}"
    folder = f"{scratch}/{SNAPSHOT}-{int(time.time())}-{uuid.uuid4().hex}"
    who = login(settings)
    with ExitStack() as meanwhile:
        _remove_leftovers(scratch)
        meanwhile.callback(stores.remove, folder)
        asking = _Asking(settings, lambda at: began.wanted(at, who), progress, meanwhile)
        path, rows_in = f"{folder}/snapshot.jsonl.gz", f"{folder}/rows"
        # Its statements are short: a server that is gone is not waited for as one that reads is.
        with _connected(who, ANSWER_SECONDS) as connection, connection.cursor() as cursor:
            # A server of which nothing tells what it has is not locked in vain.
            began.wanted(server_place(cursor), who)
            wait_until_it_has(began, partial(server_place, cursor), who, patience, progress)
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
    """Whatever happens, no progress is shown behind the block."""
    try:
        yield
    finally:
        asking.ended()


def _remove_leftovers(folder: str) -> None:
    """What was left by who was killed: nothing is read for so long."""
    for name in stores.names_in(folder):
        kind, _, rest = name.partition("-")
        began = rest.partition("-")[0]
        if kind == SNAPSHOT and began.isdigit() and int(began) + KEPT_SECONDS < time.time():
            stores.remove(f"{folder}/{name}")


@contextmanager
def _connected(who: Login, silent: int) -> Iterator[Connection[Any]]:
    """A connection that gives every value as the bytes that the server sends: no driver's types,
    nothing rounded. A statement may take so many seconds. Raises ServerError for what the server
    says inside."""
    from pymysql.converters import encoders

    connection = connect(who, use_unicode=False, conv={**encoders}, read_timeout=silent)
    with connection, asked(who):
        try:
            yield connection
        except UnknownTypeError as error:
            remedy = "Leave the table out: exclude it in conf, or name others with --tables."
            raise ServerError(
                f"{error}", address=who.address, user=who.user, remedy=remedy
            ) from error


def _stream(connection: Connection[Any]) -> Any:
    """A cursor that does not hold all rows at once."""
    from pymysql.cursors import SSCursor

    return connection.cursor(SSCursor)
