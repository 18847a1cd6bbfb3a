"""Find the tables of faults that are statements: the targets of DML that is logged as text."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa

from decoder import schemas
from decoder.transactions import STATEMENT_DML, may_change_tables
from pipeline.schema_history.ddl.ddl import StatementContext
from pipeline.schema_history.ddl.dml import targets
from pipeline.source.server.version import server_number

_NEEDED = ("__lsn", "__pos", "query", "schema", "sql_mode")
StatementPlace = tuple[int, int]
"""LSN and position."""


class NamedTables:
    """The latest statements of one segment, for the faults that follow them.

    `server` is the version of the server that wrote them; `lower_case`: its table names are in
    lower case, however statements spell them.
    """

    def __init__(self, server: str, *, lower_case: bool = False) -> None:
        self._lower_case = lower_case
        self._version, self._mariadb = server_number(server)
        self._statements: dict[StatementPlace, list[tuple[str, StatementContext]]] = {}

    def note(self, statements: pa.RecordBatch) -> None:
        """Keep the statements of the part of the log that the next faults are in."""
        self._statements = defaultdict(list)
        for row in statements.select(list(_NEEDED)).to_pylist():
            session = StatementContext(
                row["schema"], row["sql_mode"] or 0, self._version, mariadb=self._mariadb
            )
            self._statements[row["__lsn"], row["__pos"]].append((row["query"], session))

    def name(self, faults: pa.RecordBatch) -> pa.RecordBatch:
        """Return the faults with the tables that each statement names, where known."""
        kinds = faults.column("kind").to_pylist()
        if STATEMENT_DML not in kinds:
            return faults
        tables = faults.column("tables").to_pylist()
        places = zip(
            faults.column("__lsn").to_pylist(), faults.column("__pos").to_pylist(), strict=True
        )
        for index, place in enumerate(places):
            if kinds[index] == STATEMENT_DML:
                tables[index] = self._tables(place)
        at = schemas.FAULTS.get_field_index("tables")
        column = pa.array(tables, schemas.FAULTS.field(at).type)
        return faults.set_column(at, schemas.FAULTS.field(at), column)

    def _tables(self, place: StatementPlace) -> list[str] | None:
        """Return the targets of all statements at a position; a payload has several."""
        names: set[str] = set()
        statements = [s for s in self._statements.get(place, ()) if not may_change_tables(s[0])]
        for query, session in statements:
            found = targets(query, session)
            if found is None:
                return None
            names |= {str(name.lower() if self._lower_case else name) for name in found}
        return sorted(names) if statements else None
