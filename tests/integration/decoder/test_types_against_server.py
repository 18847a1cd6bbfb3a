"""Every type, inserted through SQL, decoded from the binary log, and compared with SELECT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import decoder
from decoder import TypeOptions
from tests.support.zoo import exhaustive_zoo, json_zoo, type_zoo
from tests.support.zoo.random_zoo import random_table
from tests.support.zoo.server_values import Document
from tests.support.zoo.zoo_rows import ZOO, Rows, assert_same, inserted, log_of, name_of

if TYPE_CHECKING:
    from tests.support.servers.mysql import MySQLServer

TABLES = [*type_zoo.TABLES, *exhaustive_zoo.TABLES, *json_zoo.TABLES]
RANDOM_ROWS = 9000
"""More than one block of rows."""


@pytest.fixture(scope="module")
def zoo_log(mysql: MySQLServer) -> bytes:
    return log_of(mysql, TABLES)


@pytest.fixture(scope="module")
def zoo(zoo_log: bytes) -> Rows:
    return inserted(zoo_log)


@pytest.mark.parametrize("table", [name_of(table) for table in TABLES])
def test_the_type_zoo(mysql: MySQLServer, zoo: Rows, table: str) -> None:
    assert_same(mysql, *zoo[table])


def test_dates_as_text_equal_what_mysql_prints(mysql: MySQLServer, zoo_log: bytes) -> None:
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


def test_random_rows_of_more_than_a_block(mysql: MySQLServer) -> None:
    log = log_of(mysql, [random_table(RANDOM_ROWS)])
    definition, arrays = inserted(log)["random_rows"]
    assert len(arrays[0]) == RANDOM_ROWS
    assert_same(mysql, definition, arrays)


def test_hidden_columns_of_functional_indexes_are_left_out(mysql: MySQLServer) -> None:
    create = (
        "CREATE TABLE indexed (id INT PRIMARY KEY, a INT, j JSON, v INT AS (a * 2) VIRTUAL,"
        " s INT AS (a * 3) STORED, i INT DEFAULT 7 INVISIBLE,"
        " INDEX ((a + 1)), INDEX ((CAST(j->'$.x' AS UNSIGNED ARRAY))))"
    )
    rows = "INSERT INTO indexed (id, a, j) VALUES (1, 2, '{\"x\": [1, 2]}'), (2, NULL, NULL)"
    definition, arrays = inserted(log_of(mysql, [(create, [rows])]))["indexed"]
    assert [column.name for column in definition.columns] == ["id", "a", "j", "v", "s", "i"]
    assert_same(mysql, definition, arrays)


CHANGES_IN_PLACE = [
    "JSON_SET(j, '$.a', 'short')",
    "JSON_REPLACE(j, '$.b[1]', 7, '$.c.d', -1)",
    "JSON_REMOVE(j, '$.b[0]', '$.c.e')",
    "JSON_SET(j, '$.c.d', NULL, '$.b[0]', 'x')",
    "JSON_REMOVE(j, '$.a')",
    "JSON_REPLACE(j, '$.c', 1.5e0)",
]


def test_documents_changed_in_place(mysql: MySQLServer) -> None:
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
