"""A snapshot of the server that settings name, taken over a connection of our own.

It is the file that the script makes, in the lake's scratch space, where all of Spark's workers can
read it. As soon as its place in the log is known, and before any row is read, gold is asked to
publish a cut there (`pipeline.gold.halts`).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TextIO

from pipeline import stores
from pipeline.gold.halts import halt
from pipeline.progress import Progress
from pipeline.server.connection import asked, connect
from pipeline.server.errors import ServerError
from pipeline.server.login import Login, login
from pipeline.settings import Settings
from pipeline.verify.snapshot import write_snapshot
from pipeline.verify.snapshot_columns import UnknownTypeError

Begun = Callable[[str | None, int | None], None]
"""Is told the snapshot's place in the log: file and position, None where there is no log."""
SNAPSHOT = "verify"
"""What the names of snapshots begin with; the time behind it, in seconds since 1970."""
KEPT_SECONDS = 2 * 24 * 60 * 60
SILENT_SECONDS = 24 * 60 * 60
"""The longest that a statement may take: a large table is read for as long as it takes."""


@contextmanager
def snapshot_of(settings: Settings, tables: Sequence[str], progress: Progress) -> Iterator[str]:
    """The path of a server's file, which is gone behind the block, as is what gold was asked.

    `tables`: patterns over `schema.table`, of the tables that settings want. Raises ServerError and
    SettingsError.
    """
    lake, source = settings.layout, settings.source
    who = login(settings)
    path = f"{lake.staging}/{source}/{SNAPSHOT}-{int(time.time())}-{uuid.uuid4().hex}.jsonl.gz"
    with ExitStack() as meanwhile:

        def begun(file: str | None, position: int | None) -> None:
            if file is not None and position is not None:
                meanwhile.enter_context(halt(lake, source, file, position))

        _remove_leftovers(f"{lake.staging}/{source}")
        meanwhile.callback(stores.remove, path)
        with progress.task("read the server", None, "tables"), stores.gzipped(path) as out:
            _write(who, settings, tables, out, begun)
        yield path


def _remove_leftovers(folder: str) -> None:
    """What was left by who was killed: nothing is read for so long."""
    for name in stores.names_in(folder):
        kind, _, rest = name.partition("-")
        began = rest.partition("-")[0]
        if kind == SNAPSHOT and began.isdigit() and int(began) + KEPT_SECONDS < time.time():
            stores.remove(f"{folder}/{name}")


def _write(
    who: Login, settings: Settings, patterns: Sequence[str], out: TextIO, begun: Begun
) -> None:
    from pymysql.converters import encoders
    from pymysql.cursors import SSCursor

    # Every value as the bytes that the server sends: no driver's types, nothing rounded.
    connection = connect(who, use_unicode=False, conv={**encoders}, read_timeout=SILENT_SECONDS)
    with connection, asked(who):
        try:
            write_snapshot(
                connection,
                out,
                tables=patterns,
                wanted=settings.wanted,
                zero_dates=settings.types.zero_dates,
                stream=lambda: connection.cursor(SSCursor),
                begun=begun,
            )
        except UnknownTypeError as error:
            remedy = "Leave the table out: exclude it in conf, or name others with --tables."
            raise ServerError(
                f"{error}", address=who.address, user=who.user, remedy=remedy
            ) from error
