"""`binlake inspect` of real servers' logs: rows in mysqlbinlog's order, column names, no
passwords.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipeline.cli.inspect import inspect_files
from pipeline.cli.inspect_rows import rows_in_log_order
from tests.support.decoder.mysqlbinlog_rows import OPTIONS, printed_rows

if TYPE_CHECKING:
    from tests.support.servers.server import Server

SCHEMA = "inspected"
KINDS = {
    "mysql": ("mysqlbinlog", "SET GLOBAL binlog_row_metadata = MINIMAL"),
    "mysql, compressed": ("mysqlbinlog", "SET binlog_transaction_compression = ON"),
    "mariadb": ("mariadb-binlog", "SET GLOBAL binlog_row_metadata = NO_LOG"),
    "newest_mariadb": ("mariadb-binlog", "SET GLOBAL binlog_row_metadata = NO_LOG"),
}
WIDE = 100
"""Rows of half a MiB in one transaction: many windows of the decoder."""


@pytest.fixture(scope="module", params=KINDS)
def logged(request: pytest.FixtureRequest) -> tuple[Server[Any], str, list[Path]]:
    """A server, its program that prints logs, and two log files: small transactions over several
    tables, DDL between them, and a large transaction."""
    name = request.param.partition(",")[0]
    server: Server[Any] = request.getfixturevalue(name)
    tool, setting = KINDS[request.param]
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}")
    server.flush_logs()
    first = server.binlogs()[-1]
    before = "SET GLOBAL binlog_row_metadata = FULL" if "GLOBAL" in setting else "DO 1"
    with server.connect(database=SCHEMA, autocommit=True) as one, one.cursor() as cursor:
        cursor.execute(setting)
        try:
            _write(cursor)
            server.flush_logs()
            _write_on(cursor)
        finally:
            cursor.execute(before)
    server.flush_logs()
    files = server.binlogs()
    return server, tool, files[files.index(first) : files.index(first) + 2]


def _write(cursor: Any) -> None:
    cursor.execute("CREATE TABLE a (id INT UNSIGNED PRIMARY KEY, note LONGTEXT)")
    cursor.execute("CREATE TABLE kinds (id INT PRIMARY KEY, kind ENUM('x','y'))")
    cursor.execute("CREATE TABLE b (id INT PRIMARY KEY, amount DECIMAL(9,2))")
    for n in range(60):
        cursor.execute("BEGIN")
        cursor.execute(f"INSERT INTO a VALUES ({2**32 - 1 - n}, 'one'), ({n}, NULL)")
        cursor.execute(f"INSERT INTO kinds VALUES ({n}, 'y')")
        cursor.execute(f"INSERT INTO b VALUES ({n}, {n}.5)")
        cursor.execute(
            f"UPDATE a, b SET a.note = 'two', b.amount = 7 WHERE a.id = b.id AND b.id = {n}"
        )
        cursor.execute(f"DELETE FROM b WHERE id = {n - 1}")
        cursor.execute("COMMIT")
    cursor.execute("ALTER TABLE b ADD COLUMN word VARCHAR(20) FIRST, RENAME COLUMN amount TO price")
    cursor.execute("INSERT INTO b VALUES ('new', 900, 1)")


def _write_on(cursor: Any) -> None:
    cursor.execute("BEGIN")
    for n in range(WIDE):
        cursor.execute(f"INSERT INTO a VALUES ({1000 + n}, REPEAT('w', 262144))")
        cursor.execute(f"INSERT INTO b VALUES ('w', {1000 + n}, 2)")
    cursor.execute("COMMIT")


def rows_of(files: list[Path], capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    code = inspect_files(files, rows=True, json=True)
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    return [json.loads(line) for line in shown.out.splitlines()]


def test_rows_have_the_order_of_mysqlbinlog(
    logged: tuple[Server[Any], str, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    server, tool, files = logged
    ours = rows_of(files, capsys)
    printed = printed_rows(server.tool(tool, *OPTIONS, *map(str, files)))
    theirs = [(row.table, row.operation, row.images.keys()) for row in printed]
    assert len(theirs) > 60 * 6 + 2 * WIDE
    assert [(f"{row['schema']}.{row['table']}", row["op"], _images(row)) for row in ours] == theirs
    places = [(row["file"], row["position"], row["row"]) for row in ours]
    assert places == sorted(places)


def _images(row: dict[str, Any]) -> Any:
    return {name: None for name in ("before", "after") if row[name] is not None}.keys()


def test_columns_have_names_and_types_from_earlier_ddl(
    logged: tuple[Server[Any], str, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, files = logged
    ours = rows_of(files, capsys)
    assert ours[0]["after"] == {"id": 2**32 - 1, "note": "one"}
    assert ours[2]["after"] == {"id": 0, "kind": "y"}
    b = [row["after"] for row in ours if row["table"] == "b" and row["after"] is not None]
    assert b[0] == {"id": 0, "amount": "0.50"}
    assert b[-WIDE - 1] == {"word": "new", "id": 900, "price": "1.00"}
    # In the second file, whose tables the first one creates.
    assert b[-1] == {"word": "w", "id": 1000 + WIDE - 1, "price": "2.00"}
    # Without the first file there are no names.
    alone = rows_of(files[1:], capsys)
    if "c1" in alone[0]["after"]:
        assert alone[1]["after"] == {"c1": "w", "c2": 1000, "c3": "2.00"}


def test_a_large_transaction_is_not_buffered_in_memory(
    logged: tuple[Server[Any], str, list[Path]],
) -> None:
    file = logged[2][1]
    data = file.read_bytes()
    if len(data) < WIDE << 18:
        return  # its rows are in one event, which is compressed
    before, peak, rows = pa.total_allocated_bytes(), 0, 0
    for _ in rows_in_log_order(data, str(file), lambda shown, _lsn, _position: shown):
        rows += 1
        peak = max(peak, pa.total_allocated_bytes() - before)
    assert rows == 2 * WIDE
    assert peak < len(data) // 2


ACCOUNTS = {
    "mysql": (
        "CREATE USER {0} IDENTIFIED BY 'clear1'",
        "ALTER USER {0} IDENTIFIED BY 'cl''ear2' RETAIN CURRENT PASSWORD",
        "SET PASSWORD FOR {0} = 'clear3'",
        "ALTER USER {0} IDENTIFIED WITH sha256_password BY 'clear4' COMMENT 'kept'",
        "SET SESSION print_identified_with_as_hex = ON",
        "ALTER USER {0} IDENTIFIED WITH caching_sha2_password BY 'clear5'",
        "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'",
        "ALTER USER {0} IDENTIFIED BY 'clear6'",
    ),
    "mariadb": (
        "CREATE USER {0} IDENTIFIED BY 'clear1'",
        "GRANT SELECT ON *.* TO {0} IDENTIFIED BY 'cl\\'ear2'",
        "SET PASSWORD FOR {0} = PASSWORD('clear3')",
        "ALTER USER {0} IDENTIFIED VIA mysql_native_password USING PASSWORD('clear4')",
        "CREATE USER other@h IDENTIFIED BY PASSWORD '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'",
        "UPDATE mysql.global_priv SET priv = JSON_SET(priv, '$.x', PASSWORD('clear7'))",
        "DROP USER other@h",
    ),
}
ACCOUNTS["newest_mariadb"] = ACCOUNTS["mariadb"]
HASHES = {
    "mysql": "SELECT authentication_string FROM mysql.user WHERE user = 'watched'",
    "mariadb": "SELECT JSON_VALUE(priv, '$.authentication_string') FROM mysql.global_priv"
    " WHERE user = 'watched'",
}
HASHES["newest_mariadb"] = HASHES["mariadb"]


@pytest.mark.parametrize("kind", ACCOUNTS)
def test_statements_are_printed_without_passwords_and_their_hashes(
    request: pytest.FixtureRequest, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server: Server[Any] = request.getfixturevalue(kind)
    account = "'watched'@'h'"
    server.execute(f"DROP USER IF EXISTS {account}")
    server.flush_logs()
    log = server.binlogs()[-1]
    hashes = ["2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"]
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        for statement in ACCOUNTS[kind]:
            cursor.execute(statement.format(account))
            cursor.execute(HASHES[kind])
            hashes += [text for (text,) in cursor.fetchall() if text]
        cursor.execute(f"DROP USER {account}")
    server.flush_logs()
    for as_json in (False, True):
        assert inspect_files([log], json=as_json) == 0
        shown = capsys.readouterr().out
        assert shown.count("***") >= len(ACCOUNTS[kind]) - 3
        assert "watched" in shown
        assert "clear" not in shown.replace("cl\\'ear", "clear")
        for text in hashes:
            # The printable part of a hash, in any form in which it is logged.
            assert text[-20:] not in shown
            assert text[-20:].encode().hex() not in shown.lower()
