"""Rows in logs of other origins, compared value by value with mysqlbinlog's output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from decoder import SegmentDecoder, TableDefinition, TypeOptions
from decoder.model.results import Changes
from decoder.model.segment import Segment
from tests.support.decoder.mysqlbinlog_rows import OPTIONS, Image, differences, printed_rows

if TYPE_CHECKING:
    from tests.support.servers.mariadb import MariaDBServer
    from tests.support.servers.mysql import MySQLServer

FOLDER = Path(__file__).parent.parent.parent.parent.parent / "shared" / "binlogs"
pytestmark = [
    pytest.mark.beside,
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="../shared/binlogs, the logs of other projects, is not there"
    ),
]

WITH_ROWS = {
    "binlog-invisible-columns.000001": 3,
    "binlog_56_gtid_reserved_word.000001": 1,
    "mysql-bin.checksum-crc32": 63,
    "mysql-bin.checksum-none": 36,
    "mysql-bin.compressed": 1,
    "mysql_type_bit.000001": 1,
    "time_issue.000001": 1,
    "transaction_compression.000001": 1,
}
"""Files with rows events, and how many rows they contain."""
COMPRESSED = {"mysql-bin.compressed", "transaction_compression.000001"}
"""MariaDB's mysqlbinlog does not read these."""
WITH_PARTIAL_IMAGES = {"json.binlog.000001": 18, "minimal_row_metadata.000001": 1}
OF_5_1 = {"update-full-row.binlog": 7, "write-full-row.binlog": 7, "write-partial-row.binlog": 7}
"""MySQL's mysqlbinlog no longer reads these."""

Row = tuple[TableDefinition, dict[str, Any]]


def decoded_rows(name: str) -> list[Row]:
    """Return all changes in the file with their tables, in log order, without statements."""
    decoder = SegmentDecoder(Segment(name, 1), TypeOptions())
    rows = [
        (result.definition, row)
        for result in decoder.decode([(FOLDER / name).read_bytes()])
        if isinstance(result, Changes)
        for row in result.batch.to_pylist()
    ]
    return sorted(rows, key=lambda row: (row[1]["__lsn"], row[1]["__pos"], row[1]["__row"]))


def assert_printed(rows: list[Row], output: bytes) -> None:
    """Fail if a row has another table, operation or values than printed."""
    for (definition, row), printed in zip(rows, printed_rows(output), strict=True):
        assert (str(definition), row["__op"]) == (printed.table, printed.operation)
        assert {name for name in ("before", "after") if row[name]} == set(printed.images)
        for side, image in printed.images.items():
            assert_diffs(
                definition, dict(row["__json_diff"] or ()) if side == "after" else {}, image
            )
            absent = row[f"__absent_{side}"] or ()
            names = {definition.columns[number - 1].name for number in image}
            assert names == {column.name for column in definition.columns} - set(absent)
            whole = {number: value for number, value in image.items() if not value.is_diff}
            assert list(differences(definition.columns, row[side], whole)) == []


def assert_diffs(definition: TableDefinition, diffs: dict[str, str], image: Image) -> None:
    """Fail if JSON diffs differ from the printed ones; each column has one here."""
    found = {}
    for number, column in enumerate(definition.columns, 1):
        if column.name in diffs:
            ((operation, path, value),) = (
                tuple(d.values()) for d in json.loads(diffs[column.name])
            )
            found[number] = f"JSON_{operation.upper()}(@{number}, '{path}', {value})".encode()
    assert found == {number: value.text for number, value in image.items() if value.is_diff}


@pytest.mark.parametrize(("name", "count"), {**WITH_ROWS, **WITH_PARTIAL_IMAGES}.items())
def test_rows_equal_those_of_mysqls_mysqlbinlog(name: str, count: int, mysql: MySQLServer) -> None:
    rows = decoded_rows(name)
    assert len(rows) == count
    assert_printed(rows, mysql.tool("mysqlbinlog", *OPTIONS, str(FOLDER / name)))


@pytest.mark.parametrize("name", [*sorted(set(WITH_ROWS) - COMPRESSED), *OF_5_1])
def test_rows_equal_those_of_mariadbs_mysqlbinlog(name: str, mariadb: MariaDBServer) -> None:
    rows = decoded_rows(name)
    assert len(rows) == {**WITH_ROWS, **OF_5_1}[name]
    assert_printed(rows, mariadb.tool("mariadb-binlog", *OPTIONS, str(FOLDER / name)))
