"""Which tables a transaction changes that is logged as statements: only these are held for it.

A fault of a statement names no tables, because the decoder does not read SQL. Its statements and
the tables that it has rows of are both at hand when the fault is, within the same segment.
"""

from __future__ import annotations

import re
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
from pipeline.catalog.cursor import Cursor, ReadError
from pipeline.catalog.lexer import LexError, tokens
from pipeline.catalog.names import read_name

_FIRST_WORDS = re.compile(
    r"\s*(?:(?P<insert>INSERT|REPLACE)|(?P<modify>UPDATE|DELETE))"
    r"(?:\s+(?:LOW_PRIORITY|HIGH_PRIORITY|DELAYED|QUICK|IGNORE|INTO))*\b",
    re.IGNORECASE,
)


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

    None where that cannot be told: it cannot be read, calls a routine, or names no schema.
    """
    first = _FIRST_WORDS.match(query)
    if first is None:
        return None
    if first.group("insert"):
        return _inserted(query[first.end() :], schema)
    return _modified(f"{first.group('modify')} {query[first.end() :]}", schema)


def _inserted(after: str, schema: str | None) -> set[str] | None:
    """INSERT and REPLACE name one table, at once."""
    try:
        return {str(read_name(Cursor(tokens(after)), schema))}
    except (LexError, ReadError):
        return None


def _modified(query: str, schema: str | None) -> set[str] | None:
    """UPDATE and DELETE may join tables and change several: all that they name count."""
    try:
        expression = sqlglot.parse_one(query, dialect="mysql")
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(expression, (exp.Update, exp.Delete)):
        return None
    found = list(expression.find_all(exp.Table))
    aliases = {table.alias for table in found if table.alias}
    tables = [table for table in found if table.db or table.name not in aliases]
    names = {(table.db or schema, table.name) for table in tables}
    if not names or not all(part for name in names for part in name):
        return None
    return {f"{named}.{table}" for named, table in names}
