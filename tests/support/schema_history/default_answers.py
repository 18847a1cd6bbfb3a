"""Compare column DEFAULTs on a real server with what the timeline derives from the log.

Each form of DEFAULT is added to a table that already has a row, in its own kind of session; then a
row is inserted under binlog_row_image=MINIMAL that omits the columns. The server's SELECT is the
expected value of both rows; the timeline computes its answer from the logged statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pymysql

from decoder import SegmentDecoder, TypeOptions
from decoder.columns.registry import reader
from decoder.model.definition import ColumnDefinition
from decoder.model.results import Changes, Statements
from decoder.model.segment import Segment
from pipeline.schema_history import Timeline
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.ddl.defaults import python_value
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions
from pipeline.silver.plan.survey import logged_statement, table_statements
from tests.support.servers.server import Server
from tests.support.zoo import server_values

SCHEMA = "defaults"
COLUMNS_OF_A_TABLE = 40
"""MySQL adds no more than 64 columns to a table without copying it."""
COLUMNS_AT_ONCE = 8
"""Columns that one ALTER TABLE adds, unless the server rejects any: each statement costs a server
milliseconds."""
_NEXT = "\n, "
"""Separates the clauses of a statement, and is in no clause."""
_TYPES = TypeOptions()


NOW = 1_717_228_800.654321
"""The session's clock while all columns are added: 2024-06-01 08:00 UTC."""


@dataclass(frozen=True, slots=True)
class DefaultSession:
    """A session: its client charset, its settings, and the options of its tables."""

    name: str
    charset: str = "utf8mb4"
    settings: tuple[str, ...] = ()
    table: str = "CHARACTER SET utf8mb4"


@dataclass(frozen=True, slots=True)
class DefaultForm:
    """A column type and its DEFAULT (or another clause that yields a value), in SQL."""

    type: str
    default: str

    @property
    def declared(self) -> str:
        """Return the column's declaration."""
        return f"{self.type} {self.default}".strip()


@dataclass(frozen=True, slots=True)
class Value:
    """A row's value on the server and in the timeline, or why the timeline cannot determine it."""

    server: Any
    timeline: Any = None
    refused: str | None = None

    @property
    def differs(self) -> bool:
        """True if the timeline has another value than the server."""
        return self.refused is None and self.server != self.timeline


@dataclass(slots=True)
class DefaultAnswer:
    """A form that the server accepted. `inserted` is None if the row's image contains the value."""

    session: str
    form: DefaultForm
    existing: Value
    inserted: Value | None = None


@dataclass(frozen=True, slots=True)
class _Added:
    """A column that was added on the server."""

    table: str
    name: str
    session: DefaultSession
    form: DefaultForm


def answers(
    server: Server, forms: Mapping[DefaultSession, Sequence[DefaultForm]]
) -> list[DefaultAnswer]:
    """Return the values of the server and the timeline for every form that the server accepts."""
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}")
    server.reset_logs()
    added: list[_Added] = []
    for number, (session, ones) in enumerate(forms.items()):
        added += _add(server, session, ones, prefix=f"t{number}")
    log = server.binlogs()[-1]
    server.flush_logs()
    ((version,),) = server.execute("SELECT VERSION()")
    logged = _read(log.read_bytes(), version)
    tables: dict[str, list[_Added]] = {}
    for one in added:
        tables.setdefault(one.table, []).append(one)
    return [answer for table in tables.values() for answer in _of_table(server, table, logged)]


def _add(
    server: Server, session: DefaultSession, forms: Sequence[DefaultForm], prefix: str
) -> Iterator[_Added]:
    """Add a column for each form that the server accepts, in as many tables as necessary."""
    with server.connect(charset=session.charset, database=SCHEMA) as connection:
        cursor = connection.cursor()
        # Fix the clock: whether CURTIME() as a number fits a type must not depend on the time of
        # day.
        for setting in (f"timestamp = {NOW}", *session.settings):
            cursor.execute(f"SET {setting}")
        table, count = "", COLUMNS_OF_A_TABLE
        for number in range(0, len(forms), COLUMNS_AT_ONCE):
            wanted = forms[number : number + COLUMNS_AT_ONCE]
            if count + len(wanted) > COLUMNS_OF_A_TABLE:
                _insert(cursor, table)
                table, count = f"{prefix}_{number}", 0
                cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY) {session.table}")
                cursor.execute(f"INSERT INTO {table} VALUES (1)")
            for form in _accepted(cursor, table, wanted, count):
                yield _Added(table, f"c{count}", session, form)
                count += 1
        _insert(cursor, table)


def _accepted(
    cursor: pymysql.cursors.Cursor, table: str, forms: Sequence[DefaultForm], count: int
) -> list[DefaultForm]:
    """Add columns after the first `count`; return the forms that the server accepts in this
    session."""
    clauses = (f"ADD c{count + n} {form.declared}" for n, form in enumerate(forms))
    try:
        cursor.execute(f"ALTER TABLE {table} {_NEXT.join(clauses)}")
    except (pymysql.err.MySQLError, UnicodeEncodeError):
        if len(forms) == 1:
            return []
        half = len(forms) // 2
        first = _accepted(cursor, table, forms[:half], count)
        return first + _accepted(cursor, table, forms[half:], count + len(first))
    return list(forms)


def _insert(cursor: pymysql.cursors.Cursor, table: str) -> None:
    """Insert a second row whose image omits as many columns as possible."""
    if table:
        cursor.execute("SET SESSION binlog_row_image = MINIMAL")
        cursor.execute(f"INSERT IGNORE INTO {table} (id) VALUES (2)")


@dataclass(slots=True)
class _Logged:
    """The log's statements by table and column, and each table's rows."""

    statements: dict[str, list[LoggedStatement]]
    rows: dict[str, Changes]


def _read(log: bytes, version: str) -> _Logged:
    logged = _Logged({}, {})
    for result in SegmentDecoder(Segment("binlog.000001", 1), TypeOptions()).decode([log]):
        if isinstance(result, Statements):
            for row in table_statements(result.batch, version):
                statement = logged_statement(row)
                table = statement.query.split()[2].strip("`")
                logged.statements.setdefault(table, []).extend(_by_column(statement))
        elif isinstance(result, Changes):
            logged.rows[result.table] = result
    return logged


def _by_column(statement: LoggedStatement) -> Iterator[LoggedStatement]:
    """Return a statement for each column that a logged one adds, as if it had been logged so."""
    first, *others = statement.query.split(_NEXT)
    start = " ".join(first.split()[:3])
    for query in (first, *(f"{start} {clause}" for clause in others)):
        yield replace(statement, query=query)


def _of_table(server: Server, added: list[_Added], logged: _Logged) -> Iterator[DefaultAnswer]:
    table = added[0].table
    rows = logged.rows[table]
    columns = {column.name: column for column in rows.definition.columns}
    shown = ", ".join(server_values.expression(columns[one.name]) for one in added)
    existing, inserted = server.execute(
        f"SET time_zone = '+00:00', sql_mode = ''; SELECT {shown} FROM {SCHEMA}.{table} ORDER BY id"
    )
    (absent,) = rows.batch.slice(rows.batch.num_rows - 1).column("__absent_after").to_pylist()
    create, *alters = logged.statements[table]
    for place, (one, alter) in enumerate(zip(added, alters, strict=True)):
        column, items = columns[one.name], _items(create, alter)
        answer = DefaultAnswer(
            one.session.name, one.form, _existing(items, column, existing[place])
        )
        if one.name in (absent or ()):
            answer.inserted = _inserted(items, column, inserted[place])
        yield answer


def _items(*statements: LoggedStatement) -> list[TimelineItem]:
    """Return the timeline's items for a table's CREATE and ALTER statements."""
    timeline = Timeline((), TimelineOptions())
    for statement in statements:
        timeline.statement(statement)
    return timeline.new


def _existing(items: Sequence[TimelineItem], column: ColumnDefinition, raw: Any) -> Value:
    last = items[-1]
    if last.kind == "unsupported":
        return Value(_value(column, raw), refused=last.reason)
    assert last.defaults is not None, last
    return Value(_value(column, raw), _read_back(column, last.defaults[column.name]))


def _inserted(items: Sequence[TimelineItem], column: ColumnDefinition, raw: Any) -> Value:
    model = items[-1].model
    if model is None or not model.defaults:
        return Value(_value(column, raw), refused="the table is held")
    (default,) = (one for one in model.defaults if one.name == column.name)
    if default.reason:
        return Value(_value(column, raw), refused=default.reason)
    return Value(_value(column, raw), _read_back(column, default.text))


def _value(column: ColumnDefinition, raw: Any) -> Any:
    """Convert a value of the server's SELECT."""
    return server_values.python_value(column, reader(column, _TYPES).arrow_type, raw)


def _read_back(column: ColumnDefinition, text: str | None) -> Any:
    """Convert a value of the timeline as gold does."""
    value = python_value(text, reader(column, _TYPES).arrow_type)
    return server_values.decoded_value(column, value)


def refusals(found: Iterable[DefaultAnswer]) -> list[str]:
    """Return what the timeline cannot determine, in order: row, session, DEFAULT, types,
    tab-separated.
    """
    types: dict[tuple[str, str, str], list[str]] = {}
    for answer in found:
        row = "existing" if answer.existing.refused else "inserted"
        refused = answer.existing.refused or (answer.inserted and answer.inserted.refused)
        if refused:
            default = answer.form.default.encode("unicode_escape").decode()
            types.setdefault((row, answer.session, default), []).append(answer.form.type)
    return sorted("\t".join((*place, "; ".join(kinds))) for place, kinds in types.items())
