"""Every type, inserted through SQL, decoded from the binary log, and compared with SELECT."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import decoder
from decoder.definition import ColumnDefinition, TableDefinition
from decoder.options import TypeOptions
from tests.support import type_zoo
from tests.support.server_values import Document, decoded_value, expression, python_value
from tests.support.type_zoo import literal, random_document

if TYPE_CHECKING:
    from tests.support.mysql import MySQLServer

ZOO = "type_zoo"
RANDOM_ROWS = 9000
"""More than one block of rows."""

Rows = dict[str, tuple[TableDefinition, list[Any]]]
"""By table: its definition, and its columns as Arrow arrays in the table's order."""


def name_of(table: type_zoo.Table) -> str:
    return table[0].split()[2]


def log_of(mysql: MySQLServer, tables: list[type_zoo.Table]) -> bytes:
    """The bytes of a binary log that holds these tables' statements."""
    mysql.execute(f"DROP DATABASE IF EXISTS {ZOO}; CREATE DATABASE {ZOO}")
    mysql.flush_logs()
    log = mysql.binlogs()[-1]
    with mysql.connect(database=ZOO) as connection, connection.cursor() as cursor:
        for create, statements in tables:
            for statement in (create, *statements):
                cursor.execute(statement)
    mysql.flush_logs()
    return log.read_bytes()


def inserted(log: bytes, options: TypeOptions) -> Rows:
    """The after images of a log's inserts."""
    import pyarrow as pa

    batches: dict[str, list[Any]] = {}
    definitions = {}
    for changes in decoder.read(log, options=options):
        if changes.schema == ZOO:
            changes.batch.validate(full=True)
            batches.setdefault(changes.table, []).append(changes.batch.column("after"))
            definitions[changes.table] = changes.definition
    joined = {table: pa.concat_arrays(images) for table, images in batches.items()}
    return {table: (definitions[table], image.flatten()) for table, image in joined.items()}


def selected(mysql: MySQLServer, definition: TableDefinition) -> list[tuple[Any, ...]]:
    """The table's rows, as columns."""
    expressions = ", ".join(expression(column) for column in definition.columns)
    with mysql.connect(database=ZOO) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SELECT {expressions} FROM {definition.table} ORDER BY id")
        return list(zip(*cursor.fetchall(), strict=True))


def differences(
    column: ColumnDefinition, array: Any, server: tuple[Any, ...]
) -> Iterator[tuple[str, int, Any, Any]]:
    """Where decoded and selected values are not the same, −0.0 and 0.0 told apart."""
    assert len(array) == len(server)
    for row, (ours, theirs) in enumerate(zip(array.to_pylist(), server, strict=True)):
        found = decoded_value(column, ours)
        expected = python_value(column, array.type, theirs)
        signs = isinstance(found, float) and math.copysign(1, found) != math.copysign(1, expected)
        if found != expected or type(found) is not type(expected) or signs:
            yield column.name, row + 1, found, expected


def assert_same(mysql: MySQLServer, definition: TableDefinition, arrays: list[Any]) -> None:
    server = selected(mysql, definition)
    found = [
        difference
        for column, array, values in zip(definition.columns, arrays, server, strict=True)
        for difference in differences(column, array, values)
    ]
    assert found[:5] == []


@pytest.fixture(scope="module")
def zoo_log(mysql: MySQLServer) -> bytes:
    return log_of(mysql, type_zoo.TABLES)


@pytest.fixture(scope="module")
def zoo(zoo_log: bytes) -> Rows:
    return inserted(zoo_log, TypeOptions())


@pytest.mark.parametrize("table", [name_of(table) for table in type_zoo.TABLES])
def test_the_type_zoo(mysql: MySQLServer, zoo: Rows, table: str) -> None:
    assert_same(mysql, *zoo[table])


def test_dates_as_text_are_what_mysql_prints(mysql: MySQLServer, zoo_log: bytes) -> None:
    rows = inserted(zoo_log, TypeOptions(zero_dates="string"))
    for table in ("zoo_zero_dates", "zoo_temporal"):
        assert_same(mysql, *rows[table])


def test_times_as_microseconds(mysql: MySQLServer, zoo_log: bytes) -> None:
    definition, arrays = inserted(zoo_log, TypeOptions(time="micros"))["zoo_temporal"]
    with mysql.connect(database=ZOO) as connection, connection.cursor() as cursor:
        for digits in range(7):
            name = f"t{digits}"
            cursor.execute(
                f"SELECT CAST(TIME_TO_SEC({name}) * 1000000"
                f" + IF({name} < 0, -1, 1) * MICROSECOND({name}) AS SIGNED)"
                " FROM zoo_temporal ORDER BY id"
            )
            expected = [micros for (micros,) in cursor.fetchall()]
            index = [column.name for column in definition.columns].index(name)
            assert arrays[index].to_pylist() == expected


def random_table() -> type_zoo.Table:
    """Thousands of rows of random values of every kind that a few types cannot hold wrongly."""
    chance = random.Random(99)

    def some(value: Any) -> str:
        return "NULL" if chance.random() < 0.1 else value if isinstance(value, str) else str(value)

    def decimal(precision: int, scale: int) -> str:
        limit = 10 ** chance.randint(1, precision) - 1
        return type_zoo.fixed_point(chance.randint(-limit, limit), scale)

    def clock() -> str:
        return (
            f"{chance.randint(0, 59):02}:{chance.randint(0, 59):02}.{chance.randint(0, 999999):06}"
        )

    def moment(first: int, last: int) -> str:
        year, month, day = chance.randint(first, last), chance.randint(1, 12), chance.randint(1, 28)
        return f"'{year:04}-{month:02}-{day:02} {chance.randint(0, 23):02}:{clock()}'"

    def text() -> str:
        return "".join(chance.choice("abc é日😀ß\\'\"\t") for _ in range(chance.randint(0, 60)))

    def row() -> list[str]:
        return [
            some(chance.getrandbits(64)),
            some(chance.randint(-(1 << 23), (1 << 23) - 1)),
            some(repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300))),
            some(decimal(10, 2)),
            some(decimal(38, 10)),
            some(decimal(65, 30)),
            some(moment(1, 9998)),
            some(moment(1971, 2036)),
            some(f"'{chance.randint(-837, 837)}:{clock()}'"),
            some(literal(text())),
            some(literal(text().encode())),
            some(literal(random_document(chance))),
            some(chance.randint(0, 3)),
            some(chance.randint(0, 7)),
            some(chance.getrandbits(40)),
        ]

    columns = {
        "u64": "BIGINT UNSIGNED", "i24": "MEDIUMINT", "d": "DOUBLE", "d10": "DECIMAL(10,2)",
        "d38": "DECIMAL(38,10)", "d65": "DECIMAL(65,30)", "dt": "DATETIME(6)",
        "ts": "TIMESTAMP(6) NULL", "t": "TIME(6)", "s": "VARCHAR(100)", "b": "VARBINARY(300)",
        "j": "JSON", "e": "ENUM('x', 'yy', 'zzz')", "st": "SET('x', 'yy', 'zzz')", "b40": "BIT(40)",
    }  # fmt: skip
    create, statements = type_zoo.table("random_rows", columns, (row() for _ in range(RANDOM_ROWS)))
    return create, [type_zoo.SESSION[0], "SET sql_mode = ''", "BEGIN", *statements[2:], "COMMIT"]


def test_random_rows_of_more_than_a_block(mysql: MySQLServer) -> None:
    log = log_of(mysql, [random_table()])
    definition, arrays = inserted(log, TypeOptions())["random_rows"]
    assert len(arrays[0]) == RANDOM_ROWS
    assert_same(mysql, definition, arrays)


CHANGES_IN_PLACE = [
    "JSON_SET(j, '$.a', 'short')",
    "JSON_REPLACE(j, '$.b[1]', 7, '$.c.d', -1)",
    "JSON_REMOVE(j, '$.b[0]', '$.c.e')",
    "JSON_SET(j, '$.c.d', NULL, '$.b[0]', 'x')",
    "JSON_REMOVE(j, '$.a')",
    "JSON_REPLACE(j, '$.c', 1.5e0)",
]


def test_documents_that_were_changed_in_place(mysql: MySQLServer) -> None:
    """The server then leaves gaps in the binary JSON, and values out of order."""
    document = (
        '{"a": "a string of some length", "b": ["one", 123456789, "three"],'
        ' "c": {"d": 1.25, "e": "removed later"}, "f": 18446744073709551615}'
    )
    log_of(mysql, [("CREATE TABLE in_place (id INT PRIMARY KEY, j JSON)", [])])
    log, expected = mysql.binlogs()[-1], []
    with mysql.connect(database=ZOO) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO in_place VALUES (1, %s)", (document,))
        for change in CHANGES_IN_PLACE:
            cursor.execute(f"UPDATE in_place SET j = {change}")
            cursor.execute("SELECT CAST(j AS CHAR) FROM in_place")
            expected += [Document(text) for (text,) in cursor.fetchall()]
    updates = [
        row["after"]["j"]
        for changes in decoder.read(log.read_bytes())
        for row in changes.batch.to_pylist()
        if row["__op"] == "update"
    ]
    assert [Document(text) for text in updates] == expected
