"""Which tables a transaction changes that is logged as statements: only these are held for it.

A fault of a statement names no tables, because the decoder does not read SQL. Its statements and
the tables that it has rows of are both at hand when the fault is, within the same segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from decoder.faults import STATEMENT_DML
from decoder.results import Result, Statements, Transactions
from decoder.statements import is_dml

_CHANGES = (exp.Insert, exp.Update, exp.Delete)


class StatementTables:
    """What one segment tells of the tables that its statements change."""

    def __init__(self) -> None:
        self._statements: list[pa.RecordBatch] = []
        self._transactions: list[pa.RecordBatch] = []

    def see(self, result: Result) -> None:
        """Take note of a result; statements and transactions come before their faults."""
        if isinstance(result, Statements):
            self._statements.append(result.batch.select(["__lsn", "query", "schema"]))
        elif isinstance(result, Transactions):
            self._transactions.append(result.batch.select(["__lsn", "rows"]))

    def refine(self, faults: pa.RecordBatch) -> pa.RecordBatch:
        """Faults with the tables of their statements, where these can be told."""
        is_statement = pc.and_(
            pc.equal(faults.column("kind"), STATEMENT_DML),
            pc.equal(faults.column("event_type"), "QUERY"),
        )
        lsns = faults.column("__lsn").filter(is_statement)
        if not len(lsns):
            return faults
        known = self._tables(lsns)
        tables = [
            known.get(lsn) if statement and names is None else names
            for lsn, statement, names in zip(
                faults.column("__lsn").to_pylist(),
                is_statement.to_pylist(),
                faults.column("tables").to_pylist(),
                strict=True,
            )
        ]
        index = faults.schema.get_field_index("tables")
        field = faults.schema.field(index)
        return faults.set_column(index, field, pa.array(tables, field.type))

    def _tables(self, lsns: pa.Array) -> dict[int, list[str] | None]:
        """For each transaction, the tables of its statements and of its rows."""
        changed: dict[int, set[str] | None] = {}
        for row in _rows(self._statements, lsns):
            if is_dml(row["query"], in_transaction=True):
                names = changed_tables(row["query"], row["schema"])
                so_far = changed.setdefault(row["__lsn"], set())
                unknown = names is None or so_far is None
                changed[row["__lsn"]] = None if unknown else {*(so_far or ()), *(names or ())}
        for row in _rows(self._transactions, lsns):
            so_far = changed.get(row["__lsn"])
            if so_far is not None:
                so_far.update(name for name, _ in row["rows"] or ())
        return {lsn: None if names is None else sorted(names) for lsn, names in changed.items()}


def _rows(batches: list[pa.RecordBatch], lsns: pa.Array) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.filter(pc.is_in(batch.column("__lsn"), value_set=lsns)).to_pylist()


def changed_tables(query: str, schema: str | None) -> set[str] | None:
    """`schema.table` of what a statement inserts into, updates or deletes from.

    None where that cannot be told: it does not parse, calls a routine, or names no schema.
    """
    try:
        expression = sqlglot.parse_one(query, dialect="mysql")
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(expression, _CHANGES):
        return None
    names = {_qualified(table, schema) for table in _targets(expression)}
    known = {name for name in names if name is not None}
    return known if known and len(known) == len(names) else None


def _targets(change: exp.Expression) -> Iterator[exp.Expression]:
    """The tables changed; of a statement over several tables, all of them."""
    if isinstance(change, exp.Insert):
        target = change.this
        yield target.this if isinstance(target, exp.Schema) else target
    else:
        yield from change.find_all(exp.Table)


def _qualified(table: exp.Expression, schema: str | None) -> str | None:
    if not isinstance(table, exp.Table):
        return None
    named = table.db or schema
    return f"{named}.{table.name}" if named and table.name else None
