"""MariaDB's log under each binlog_row_metadata, read without a lake: rows and columns equal SELECT.

The default, NO_LOG, omits names, signedness, labels, charsets and keys: all these come from DDL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pytest

from pipeline.schema_history.timeline.timeline import TimelineOptions
from tests.support.schema_history.defined_log import changes, reasons, surveyed
from tests.support.servers.server import Server
from tests.support.zoo import mariadb_zoo
from tests.support.zoo.mariadb_changes import ADDRESSES, ELEMENTS, NEWEST
from tests.support.zoo.random_zoo import random_table
from tests.support.zoo.type_zoo import Table
from tests.support.zoo.zoo_rows import ZOO, assert_same, log_of

OPTIONS = TimelineOptions(default_charset="utf8mb4", from_start=True)
RANDOM_ROWS = 200
ZOOS = {
    "mariadb": [*mariadb_zoo.TABLES, random_table(RANDOM_ROWS)],
    "newest_mariadb": [*mariadb_zoo.TABLES, random_table(RANDOM_ROWS), mariadb_zoo.newest()],
}
CHANGES = {
    "mariadb": {**ADDRESSES, **ELEMENTS},
    "newest_mariadb": {**ADDRESSES, **ELEMENTS, **NEWEST},
}


@pytest.fixture(params=["mariadb", "newest_mariadb"])
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(params=["NO_LOG", "MINIMAL", "FULL"])
def server(kind: str, request: pytest.FixtureRequest) -> Iterator[Server]:
    found: Server = request.getfixturevalue(kind)
    found.execute(f"SET GLOBAL binlog_row_metadata = {request.param}")
    yield found
    found.execute("SET GLOBAL binlog_row_metadata = FULL")


def test_the_type_zoo(server: Server, kind: str) -> None:
    log = log_of(server, ZOOS[kind])
    of = surveyed(log, OPTIONS)
    assert reasons(of) == {}
    images: dict[str, list[pa.Array]] = {}
    definitions = {}
    for found in changes(log, of, OPTIONS.types):
        images.setdefault(found.table, []).append(found.batch.column("after"))
        definitions[found.table] = found.definition
    assert len(images) == len(ZOOS[kind])
    for table, parts in images.items():
        assert_same(server, definitions[table], pa.concat_arrays(parts).flatten())


def statements_of(histories: Mapping[str, Sequence[str]]) -> list[Table]:
    """Return the statements in the form of `log_of`."""
    return [
        (statements[0].replace("{}", table), [one.replace("{}", table) for one in statements[1:]])
        for table, statements in histories.items()
    ]


def test_columns_and_keys_after_schema_changes(server: Server, kind: str) -> None:
    log = log_of(server, statements_of(CHANGES[kind]))
    of = surveyed(log, OPTIONS)
    assert reasons(of) == {}
    last = {found.table: found for found in changes(log, of, OPTIONS.types) if found.schema == ZOO}
    there = {name for (name,) in server.execute(f"SHOW TABLES FROM {ZOO}")}
    assert there <= {*last, *renamed(CHANGES[kind])}
    for table in sorted(there & set(last)):
        definition = last[table].definition
        assert [column.name for column in definition.columns] == columns_of(server, table), table
        assert list(definition.key) == key_of(server, table), table


def renamed(histories: Mapping[str, Sequence[str]]) -> set[str]:
    """Tables that get their names without any later row."""
    names = (
        re.fullmatch(r"RENAME TABLE \S+ TO (\S+)", one.replace("{}", table))
        for table, statements in histories.items()
        for one in statements
    )
    return {found[1] for found in names if found}


def columns_of(server: Server, table: str) -> list[str]:
    rows = server.execute(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
        (ZOO, table),
    )
    return [name for (name,) in rows]


def key_of(server: Server, table: str) -> list[str]:
    rows = server.execute(
        "SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s"
        " AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX",
        (ZOO, table),
    )
    return [name for (name,) in rows]
