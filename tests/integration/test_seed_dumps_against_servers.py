"""Real dumps of every type, read by `open_mysqldump`, are what the decoder gives of the log."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from decoder.definition import TableDefinition
from decoder.options import TypeOptions
from pipeline.seed.dumps import Dump, DumpedTable
from pipeline.seed.dumps.mysqldump import open_mysqldump
from pipeline.seed.values import row_reader
from tests.support import mariadb_zoo, type_zoo
from tests.support.random_zoo import random_table
from tests.support.seed_rows import assert_read_as_logged
from tests.support.zoo_rows import ZOO, Rows, inserted, log_of

if TYPE_CHECKING:
    from tests.support.mariadb import MariaDBServer, NewestMariaDBServer
    from tests.support.mysql import MySQLServer
    from tests.support.server import Server

RANDOM_ROWS = 1000
OF_MYSQL = [*type_zoo.TABLES, random_table(RANDOM_ROWS)]
OF_MARIADB = [*mariadb_zoo.TABLES, random_table(RANDOM_ROWS)]


def dumped(server: Server, program: str, path: Path, *options: str) -> Dump:
    arguments = (f"--socket={server.socket}", "--user=root", "--single-transaction", *options)
    text = server.tool(program, *arguments, "--databases", ZOO)
    path.write_bytes(_PACKED.get(path.suffix, bytes)(text))
    return open_mysqldump(str(path))


_PACKED = {".gz": gzip.compress, ".zst": zstandard.compress}


def assert_same_rows(dump: Dump, rows: Rows) -> None:
    tables = {table.table: table for table in dump.tables}
    assert set(tables) >= set(rows)
    for name, (definition, logged) in rows.items():
        left_out = tables[name].rounds(definition.columns)
        assert_read_as_logged(definition, logged, read(tables[name], definition), left_out)


def read(table: DumpedTable, definition: TableDefinition) -> Sequence[Any]:
    """Each chunk as a worker gets it."""
    table.require_readable(definition.columns)
    reader = row_reader(definition, TypeOptions())
    chunks = [pickle.loads(pickle.dumps(chunk)) for chunk in table.chunks]
    return [
        reader.read(cells, part=chunk.name)
        for chunk in chunks
        for cells in chunk.cells(definition.columns)
    ]


@pytest.fixture(scope="module")
def rows(mysql: MySQLServer) -> Rows:
    return inserted(log_of(mysql, OF_MYSQL))


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("dump.sql", ["--source-data=2"]),
        ("dump.sql.gz", ["--source-data", "--hex-blob"]),
        ("dump.sql.zst", ["--complete-insert", "--skip-extended-insert", "--skip-comments"]),
    ],
)
def test_mysqldump(
    mysql: MySQLServer, rows: Rows, tmp_path: Path, file: str, options: list[str]
) -> None:
    dump = dumped(mysql, "mysqldump", tmp_path / file, *options)
    assert_same_rows(dump, rows)


def test_where_in_the_log_a_dump_of_mysql_was_taken(mysql: MySQLServer, tmp_path: Path) -> None:
    log_of(mysql, [type_zoo.bits()])
    dump = dumped(mysql, "mysqldump", tmp_path / "dump.sql", "--source-data=2")
    ((file, position, *_, gtids),) = mysql.execute("SHOW BINARY LOG STATUS")
    assert dump.place == (file, position)
    assert dump.gtids == gtids.replace("\n", "")
    assert dump.server == mysql.execute("SELECT VERSION()")[0][0]


def test_mariadb_dump(mariadb: MariaDBServer, tmp_path: Path) -> None:
    rows = inserted(log_of(mariadb, OF_MARIADB))
    dump = dumped(mariadb, "mariadb-dump", tmp_path / "dump.sql", "--master-data=2", "--gtid")
    assert_same_rows(dump, rows)
    ((file, position, *_),) = mariadb.execute("SHOW MASTER STATUS")
    assert dump.place == (file, position)
    assert dump.gtids == mariadb.execute("SELECT @@gtid_binlog_pos")[0][0]


def test_the_newest_types_of_mariadb(newest_mariadb: NewestMariaDBServer, tmp_path: Path) -> None:
    rows = inserted(log_of(newest_mariadb, [mariadb_zoo.newest(), mariadb_zoo.compressed()]))
    assert_same_rows(dumped(newest_mariadb, "mariadb-dump", tmp_path / "dump.sql"), rows)
