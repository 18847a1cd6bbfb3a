"""Which tables gold has in full, and whether it has all of a server's: then no seed is needed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

import pyarrow as pa
from deltalake.exceptions import DeltaError

from pipeline.catalog.effects import TableName
from pipeline.errors import BinlakeError
from pipeline.gold.state import GoldState
from pipeline.lake import require_writable
from pipeline.lake_tables.opening import native_tables
from pipeline.ledger import Ledger
from pipeline.seed.server import source_server
from pipeline.server.create_statements import user_tables
from pipeline.settings import Settings

UNSHOWN = (
    "The server shows this account no table that is to be replicated: look at include, and at the"
    " account's grants (binlake check)."
)

_NOT_KNOWN = (BinlakeError, DeltaError, pa.ArrowException, OSError, KeyError, TypeError, ValueError)
"""What looking at a damaged lake, or at a server, ends in."""


def whole_tables(state: GoldState) -> set[TableName]:
    """Those that gold has in full, as far as it has come with them."""
    return {name for name, table in state.tables.items() if table.complete}


def standing_still(state: GoldState, names: Collection[TableName]) -> Iterator[str]:
    """Sentences about those of the tables that gold has in full, and goes no further with."""
    for name in sorted(whole_tables(state).intersection(names)):
        if reason := state.holds(state.tables[name]):
            yield (
                f"{name} stands still in gold, and is not seeded unless --table names it: {reason}"
            )


def lacks_nothing(settings: Settings) -> bool:
    """Whether `binlake seed` has nothing to do, as far as that is known without Spark.

    What else may be wrong, a server that does not answer or a lake that cannot be read, the run
    itself finds again, and records. So it does what gold's state tells that is not understood.
    """
    if settings.seed.tables or settings.seed.dump is not None or _has_spark():
        return False
    try:
        require_writable(settings.lake)
        state = _gold(settings)
        if state is None:
            return False
        with source_server(settings) as server:
            names = {TableName(*n) for n in user_tables(server.connection, settings.wanted)}
    except _NOT_KNOWN:
        return False
    return bool(names) and _has_all(state, names | _known(state, settings))


def _gold(settings: Settings) -> GoldState | None:
    """Where gold stands; None where it has nothing yet, and where only Spark can look."""
    tables = native_tables(settings.layout)
    if tables is None:
        return None
    ledger = Ledger.of(tables, settings.source)
    return None if ledger.last("gold") is None else GoldState.of(ledger)


def _has_spark() -> bool:
    """Whether spark-submit started this: its Java is there already, and YARN takes a driver that
    never begins a session for one that failed."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _known(state: GoldState, settings: Settings) -> set[TableName]:
    """Tables that gold replicates: the account may have lost the right to see one."""
    return {
        name
        for name, table in state.tables.items()
        if not table.dropped and settings.wanted(name.schema, name.table)
    }


def _has_all(state: GoldState, names: Collection[TableName]) -> bool:
    whole = whole_tables(state)
    return whole.issuperset(names) and not any(standing_still(state, names))
