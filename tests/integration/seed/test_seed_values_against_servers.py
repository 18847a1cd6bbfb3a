"""Rows printed by a server and parsed by `RowReader` equal what the decoder returns for its
log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from decoder import TableDefinition, TypeOptions
from decoder.columns.registry import row_type
from pipeline.seed.selection import SESSION, select_expression
from pipeline.seed.values import RowReader
from tests.support.seed.seed_rows import differences, selected_cells
from tests.support.zoo import exhaustive_zoo, json_zoo, mariadb_zoo, type_zoo
from tests.support.zoo.random_zoo import random_table
from tests.support.zoo.zoo_rows import ZOO, Rows, inserted, log_of, name_of, names_of

if TYPE_CHECKING:
    from tests.support.servers.mariadb import MariaDBServer, NewestMariaDBServer
    from tests.support.servers.mysql import MySQLServer
    from tests.support.servers.server import Server

RANDOM_ROWS = 1000
OPTIONS = (TypeOptions(), TypeOptions(time="micros", zero_dates="string"))
TABLES = [*type_zoo.TABLES, *exhaustive_zoo.TABLES, *json_zoo.TABLES, random_table(RANDOM_ROWS)]
OF_MARIADB = [*mariadb_zoo.TABLES, random_table(RANDOM_ROWS)]


def assert_read_as_logged(
    server: Server, definition: TableDefinition, logged: Sequence[Any], options: TypeOptions
) -> None:
    reader = RowReader(definition, options)
    batch = reader.read(selected_cells(server, definition))
    batch.validate(full=True)
    assert pa.struct(list(batch.schema)) == row_type(definition, options)
    for name, ours, theirs in zip(batch.schema.names, batch.columns, logged, strict=True):
        assert differences(name, ours.to_pylist(), theirs.to_pylist())[:5] == []


@pytest.fixture(scope="module")
def log(mysql: MySQLServer) -> bytes:
    return log_of(mysql, TABLES)


@pytest.fixture(scope="module")
def mariadb_log(mariadb: MariaDBServer) -> bytes:
    return log_of(mariadb, OF_MARIADB)


@pytest.fixture(scope="module", params=OPTIONS, ids=["usual", "as text"])
def options(request: pytest.FixtureRequest) -> TypeOptions:
    found: TypeOptions = request.param
    return found


@pytest.fixture(scope="module")
def logged(log: bytes, options: TypeOptions) -> Rows:
    return inserted(log, options)


@pytest.fixture(scope="module")
def mariadb_logged(mariadb_log: bytes, options: TypeOptions) -> Rows:
    return inserted(mariadb_log, options, names=names_of(OF_MARIADB))


@pytest.mark.parametrize("table", [name_of(table) for table in TABLES])
def test_values_of_mysql_equal_the_log(
    mysql: MySQLServer, logged: Rows, options: TypeOptions, table: str
) -> None:
    assert_read_as_logged(mysql, *logged[table], options)


@pytest.mark.parametrize("table", [name_of(table) for table in OF_MARIADB])
def test_values_of_mariadb_equal_the_log(
    mariadb: MariaDBServer, mariadb_logged: Rows, options: TypeOptions, table: str
) -> None:
    assert_read_as_logged(mariadb, *mariadb_logged[table], options)


def test_values_of_mariadbs_newest_types_equal_the_log(newest_mariadb: NewestMariaDBServer) -> None:
    tables = [mariadb_zoo.newest(), mariadb_zoo.compressed()]
    rows_of = inserted(log_of(newest_mariadb, tables), names=names_of(tables))
    for rows in rows_of.values():
        assert_read_as_logged(newest_mariadb, *rows, TypeOptions())


def test_every_expression_has_a_binary_type(mysql: MySQLServer, log: bytes) -> None:
    """The result's charset for drivers: 63 (binary)."""
    for definition, _ in inserted(log).values():
        expressions = ", ".join(select_expression(column) for column in definition.columns)
        with mysql.connect(database=ZOO) as connection, connection.cursor() as cursor:
            cursor.execute(SESSION)
            cursor.execute(f"SELECT {expressions} FROM {definition.table} LIMIT 0")
            assert connection._result is not None
            fields = connection._result.fields
            assert {field.charsetnr for field in fields} == {63}


LONG = (
    "CREATE TABLE `long` (id INT PRIMARY KEY, l LONGTEXT CHARACTER SET latin1, b LONGBLOB, j JSON,"
    " g GEOMETRY)"
)
POINTS = ", ".join(f"{n} {n}" for n in range(500))
LONG_ROW = (
    "INSERT INTO `long` VALUES (1, REPEAT(_latin1 x'e9', 900), REPEAT('x', 2000),"
    f" CONCAT('\"', REPEAT('é', 900), '\"'), ST_GeomFromText('LINESTRING({POINTS})'))"
)


@pytest.mark.parametrize(("fixture", "document"), [("mysql", 0), ("mariadb", 1802)])
def test_values_longer_than_a_packet_do_not_become_nulls(
    request: pytest.FixtureRequest, fixture: str, document: int
) -> None:
    """A row that is too long to be sent is an error; a value that became NULL would go unnoticed.

    MySQL itself prints such a document as an empty string, which is invalid JSON and therefore
    refused.
    """
    server: Server = request.getfixturevalue(fixture)
    ((definition, _),) = inserted(log_of(server, [(LONG, [LONG_ROW])])).values()
    lengths = ", ".join(f"LENGTH({select_expression(column)})" for column in definition.columns)
    ((packet,),) = server.execute("SELECT @@max_allowed_packet")
    server.execute("SET GLOBAL max_allowed_packet = 1024")
    try:
        ((_, *found),) = server.execute(f"SELECT {lengths} FROM {ZOO}.`long`")
    finally:
        server.execute(f"SET GLOBAL max_allowed_packet = {packet}")
    assert found == [1800, 2000, document, 4 + 1 + 4 + 4 + 500 * 16]
