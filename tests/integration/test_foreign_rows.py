"""Rows of logs that others wrote, compared value by value with what mysqlbinlog prints of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import decoder
from decoder.definition import TableDefinition
from decoder.errors import UnsupportedError
from tests.support.mysqlbinlog_rows import OPTIONS, differences, printed_rows

if TYPE_CHECKING:
    from tests.support.mariadb import MariaDBServer
    from tests.support.mysql import MySQLServer

FOLDER = Path(__file__).parent.parent.parent.parent / "shared" / "binlogs"
pytestmark = [
    pytest.mark.beside,
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="../shared/binlogs, the logs of other projects, is not there"
    ),
]

WITH_ROWS = {
    "binlog-invisible-columns.000001": 3,
    "mysql-bin.checksum-crc32": 63,
    "mysql-bin.checksum-none": 36,
    "mysql-bin.compressed": 1,
    "mysql_type_bit.000001": 1,
    "time_issue.000001": 1,
    "transaction_compression.000001": 1,
}
"""Files with row events, and how many rows there are."""
COMPRESSED = {"mysql-bin.compressed", "transaction_compression.000001"}
"""MariaDB's mysqlbinlog does not read them."""
WITH_PARTIAL_IMAGES = [
    "json.binlog.000001",
    "minimal_row_metadata.000001",
    "update-full-row.binlog",
    "write-full-row.binlog",
    "write-partial-row.binlog",
]

Row = tuple[TableDefinition, dict[str, Any]]


def decoded_rows(name: str) -> list[Row]:
    """All changes in the file with their tables, in the log's order."""
    rows = [
        (changes.definition, row)
        for changes in decoder.read((FOLDER / name).read_bytes())
        for row in changes.batch.to_pylist()
    ]
    return sorted(rows, key=lambda row: (row[1]["__lsn"], row[1]["__pos"], row[1]["__row"]))


def assert_printed(rows: list[Row], output: bytes) -> None:
    """Fails where a row is not of the table, operation and values that are printed."""
    for (definition, row), printed in zip(rows, printed_rows(output), strict=True):
        assert (str(definition), row["__op"]) == (printed.table, printed.operation)
        assert {name for name in ("before", "after") if row[name]} == set(printed.images)
        for name, image in printed.images.items():
            assert len(image) == len(definition.columns)
            assert list(differences(definition.columns, row[name], image)) == []


@pytest.mark.parametrize("name", WITH_ROWS)
def test_rows_are_those_that_mysqls_mysqlbinlog_prints(name: str, mysql: MySQLServer) -> None:
    rows = decoded_rows(name)
    assert len(rows) == WITH_ROWS[name]
    assert_printed(rows, mysql.tool("mysqlbinlog", *OPTIONS, str(FOLDER / name)))


@pytest.mark.parametrize("name", sorted(set(WITH_ROWS) - COMPRESSED))
def test_rows_are_those_that_mariadbs_mysqlbinlog_prints(name: str, mariadb: MariaDBServer) -> None:
    output = mariadb.tool("mariadb-binlog", *OPTIONS, str(FOLDER / name))
    assert_printed(decoded_rows(name), output)


@pytest.mark.parametrize("name", WITH_PARTIAL_IMAGES)
def test_rows_that_leave_columns_out_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match=r"partial row image|PARTIAL_UPDATE_ROWS"):
        decoded_rows(name)
