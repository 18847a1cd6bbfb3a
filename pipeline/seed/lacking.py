"""Which tables gold has in full, and whether it has all of a server's: then no seed is needed."""

from __future__ import annotations

from pipeline.catalog.effects import TableName
from pipeline.errors import BinlakeError
from pipeline.gold.state import GoldState
from pipeline.ledger_files import last_finished
from pipeline.seed.server import source_server
from pipeline.seed.source_table import table_names
from pipeline.settings import Settings


def whole_tables(state: GoldState) -> set[TableName]:
    """Those that gold has in full."""
    return {name for name, table in state.tables.items() if table.complete}


def lacks_nothing(settings: Settings) -> bool:
    """Whether `binlake seed` has nothing to do, as far as that is known without Spark.

    What else may be wrong, a server that does not answer or a lake that cannot be read, the run
    itself finds again, and records.
    """
    if settings.seed.tables or settings.seed.dump is not None:
        return False
    try:
        found = last_finished(settings.layout, settings.source, "gold")
        if found is None:
            return False
        whole = whole_tables(GoldState.after(*found))
        with source_server(settings) as server:
            return whole.issuperset(table_names(server.connection, settings.wanted))
    except BinlakeError:
        return False
