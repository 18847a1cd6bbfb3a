"""Every type of MariaDB, inserted through SQL, decoded from the log, and compared with SELECT."""

from __future__ import annotations

import pytest

from decoder import TypeOptions
from decoder.errors import UnsupportedError
from tests.support.servers.mariadb import MariaDBServer, NewestMariaDBServer
from tests.support.zoo import mariadb_zoo
from tests.support.zoo.random_zoo import random_table
from tests.support.zoo.zoo_rows import ZOO, Rows, assert_same, inserted, log_of, name_of, names_of

RANDOM_ROWS = 1000
TABLES = [*mariadb_zoo.TABLES, random_table(RANDOM_ROWS)]
NEWEST = [mariadb_zoo.newest(), mariadb_zoo.compressed()]


@pytest.fixture(scope="module")
def zoo_log(mariadb: MariaDBServer) -> bytes:
    return log_of(mariadb, TABLES)


@pytest.fixture(scope="module")
def zoo(zoo_log: bytes) -> Rows:
    return inserted(zoo_log, names=names_of(TABLES))


@pytest.mark.parametrize("table", [name_of(table) for table in TABLES])
def test_the_type_zoo(mariadb: MariaDBServer, zoo: Rows, table: str) -> None:
    assert_same(mariadb, *zoo[table])


def test_dates_as_text_equal_what_mariadb_prints(mariadb: MariaDBServer, zoo_log: bytes) -> None:
    rows = inserted(zoo_log, TypeOptions(zero_dates="string"))
    for table in ("zoo_zero_dates", "zoo_temporal"):
        assert_same(mariadb, *rows[table])


def test_the_newest_types(newest_mariadb: NewestMariaDBServer) -> None:
    log = log_of(newest_mariadb, NEWEST)
    rows = inserted(log, names=names_of(NEWEST))
    assert set(rows) == {"zoo_newest", "zoo_compressed"}
    for table in rows.values():
        assert_same(newest_mariadb, *table)


def test_without_a_definition_mariadbs_own_types_are_bytes(mariadb: MariaDBServer) -> None:
    definition, arrays = inserted(log_of(mariadb, [mariadb_zoo.addresses()]))["zoo_addresses"]
    assert [str(array.type) for array in arrays[1:]] == ["binary", "binary"]
    assert_same(mariadb, definition, arrays)


@pytest.mark.parametrize("kind", ["TIME", "DATETIME", "TIMESTAMP NULL"])
@pytest.mark.parametrize("digits", [0, 3, 6])
def test_mariadbs_own_temporal_forms_are_refused(
    mariadb: MariaDBServer, kind: str, digits: int
) -> None:
    """The log does not record their fractional digits, and so not the size of a value."""
    word, _, null = kind.partition(" ")
    create = f"CREATE TABLE old (id INT PRIMARY KEY, x {word}({digits}) {null})"
    insert = "INSERT INTO old VALUES (1, '2020-01-02 03:04:05.678901')"
    mariadb.execute("SET GLOBAL mysql56_temporal_format = OFF")
    try:
        log = log_of(mariadb, [(create, ["SET sql_mode = ''", insert])])
    finally:
        mariadb.execute("SET GLOBAL mysql56_temporal_format = ON")
    with pytest.raises(UnsupportedError, match="mysql56_temporal_format") as caught:
        inserted(log)
    assert caught.value.table == f"{ZOO}.old"


def test_the_hidden_hash_of_a_unique_blob_is_left_out(mariadb: MariaDBServer) -> None:
    create = "CREATE TABLE hashed (id INT PRIMARY KEY, b BLOB, t TEXT, UNIQUE (b), UNIQUE (t))"
    log = log_of(mariadb, [(create, ["INSERT INTO hashed VALUES (1, 'x', 'y'), (2, NULL, 'é')"])])
    definition, arrays = inserted(log)["hashed"]
    assert [column.name for column in definition.columns] == ["id", "b", "t"]
    assert [column.name for _, column in definition.hidden] == ["DB_ROW_HASH_1", "DB_ROW_HASH_2"]
    assert_same(mariadb, definition, arrays)
