"""Dumps of every type, by real programs, equal what the decoder returns for the log.

MySQL Shell is in no package registry: its files are created here as in its source, the fields by
the server's own SELECT … INTO OUTFILE, which has the same format.
"""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from decoder import TableDefinition, TypeOptions
from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition
from pipeline.seed.dumps import Dump, DumpedTable, open_dump
from pipeline.seed.values import RowReader
from tests.support.programs import mydumper_install
from tests.support.seed.seed_rows import assert_read_as_logged
from tests.support.zoo import mariadb_zoo, type_zoo
from tests.support.zoo.random_zoo import random_table
from tests.support.zoo.zoo_rows import ZOO, Rows, inserted, log_of, names_of

if TYPE_CHECKING:
    from tests.support.servers.mariadb import MariaDBServer, NewestMariaDBServer
    from tests.support.servers.mysql import MySQLServer
    from tests.support.servers.server import Server

RANDOM_ROWS = 1000
OF_MYSQL = [*type_zoo.TABLES, random_table(RANDOM_ROWS)]
OF_MARIADB = [*mariadb_zoo.TABLES, random_table(RANDOM_ROWS)]


def dumped(server: Server, program: str, path: Path, *options: str) -> Dump:
    arguments = (f"--socket={server.socket}", "--user=root", "--single-transaction", *options)
    text = server.tool(program, *arguments, "--databases", ZOO)
    path.write_bytes(_PACKED.get(path.suffix, bytes)(text))
    return open_dump(str(path))


_PACKED = {".gz": gzip.compress, ".zst": zstandard.compress}


def assert_same_rows(dump: Dump, rows: Rows) -> None:
    tables = {table.table: table for table in dump.tables}
    assert set(tables) >= set(rows)
    for name, (definition, logged) in rows.items():
        # Servers print a FLOAT with six digits.
        left_out = [c.name for c in definition.columns if c.type is T.FLOAT]
        assert_read_as_logged(definition, logged, read(tables[name], definition), left_out)


def read(table: DumpedTable, definition: TableDefinition) -> Sequence[Any]:
    """Return each chunk as a worker reads it."""
    table.require_readable(definition.columns)
    reader = RowReader(definition, TypeOptions())
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
def test_mysqldump_equals_the_log(
    mysql: MySQLServer, rows: Rows, tmp_path: Path, file: str, options: list[str]
) -> None:
    dump = dumped(mysql, "mysqldump", tmp_path / file, *options)
    assert_same_rows(dump, rows)


def test_a_mysql_dump_has_its_log_position(mysql: MySQLServer, rows: Rows, tmp_path: Path) -> None:
    dump = dumped(mysql, "mysqldump", tmp_path / "dump.sql", "--source-data=2")
    ((file, position, *_, gtids),) = mysql.execute("SHOW BINARY LOG STATUS")
    assert dump.place == (file, position)
    assert dump.gtids == gtids.replace("\n", "")
    assert dump.server == mysql.execute("SELECT VERSION()")[0][0]


def test_mariadb_dump_equals_the_log(mariadb: MariaDBServer, tmp_path: Path) -> None:
    rows = inserted(log_of(mariadb, OF_MARIADB), names=names_of(OF_MARIADB))
    before = place_of(mariadb)
    dump = dumped(mariadb, "mariadb-dump", tmp_path / "dump.sql", "--master-data=2", "--gtid")
    assert_same_rows(dump, rows)
    assert dump.place in (before, place_of(mariadb))
    assert dump.gtids == mariadb.execute("SELECT @@gtid_binlog_pos")[0][0]


def place_of(server: MariaDBServer) -> tuple[str, int]:
    """Return the log's end; the server may append a checkpoint to it at any time."""
    ((file, position, *_),) = server.execute("SHOW MASTER STATUS")
    return file, position


def test_a_dump_of_mariadbs_newest_types_equals_the_log(
    newest_mariadb: NewestMariaDBServer, tmp_path: Path
) -> None:
    tables = [mariadb_zoo.newest(), mariadb_zoo.compressed()]
    rows = inserted(log_of(newest_mariadb, tables), names=names_of(tables))
    assert_same_rows(dumped(newest_mariadb, "mariadb-dump", tmp_path / "dump.sql"), rows)


@pytest.mark.parametrize("options", [[], ["--compress", "--rows=20"]])
def test_mydumper_equals_the_log(
    mariadb: MariaDBServer, tmp_path: Path, options: list[str]
) -> None:
    if reason := mydumper_install.why_unavailable():
        pytest.skip(reason)
    rows = inserted(log_of(mariadb, OF_MARIADB), names=names_of(OF_MARIADB))
    command = [*mydumper_install.installation().command("mydumper"), f"--socket={mariadb.socket}"]
    command += ["--user=root", f"--database={ZOO}", f"--outputdir={tmp_path}", *options]
    before = place_of(mariadb)
    subprocess.run(command, check=True, capture_output=True)
    dump = open_dump(str(tmp_path))
    assert_same_rows(dump, rows)
    assert dump.place in (before, place_of(mariadb))
    assert dump.gtids == mariadb.execute("SELECT @@gtid_binlog_pos")[0][0]


def test_mysql_shell_equals_the_log(mysql: MySQLServer, rows: Rows, tmp_path: Path) -> None:
    shell_dump(mysql, rows, tmp_path)
    dump = open_dump(str(tmp_path))
    assert (dump.place, dump.gtids) == (("binlog.000002", 157), "a:1-5,b:1")
    assert_same_rows(dump, rows)


def shell_dump(server: MySQLServer, rows: Rows, folder: Path) -> None:
    """Write what util.dumpSchemas() writes, each table in two chunks."""
    about = {"schemas": [ZOO], "basenames": {ZOO: ZOO}, "tzUtc": True, "serverVersion": "9.7.0"}
    about |= {"binlogFile": "binlog.000002", "binlogPosition": 157, "gtidExecuted": "a:1-5,\nb:1"}
    (folder / "@.json").write_text(json.dumps(about))
    (folder / "@.done.json").write_text("{}")
    basenames = {name: f"{ZOO}@{name.replace('_', '%5F')}" for name in rows}
    of_schema = {"schema": ZOO, "tables": list(rows), "basenames": basenames}
    (folder / f"{ZOO}.json").write_text(json.dumps(of_schema))
    for name, (definition, _) in rows.items():
        base = basenames[name]
        ((_, create),) = server.execute(f"SHOW CREATE TABLE {ZOO}.{name}")
        (folder / f"{base}.sql").write_text(f"-- MySQLShell dump\n\n{create};\n")
        (folder / f"{base}.json").write_text(json.dumps(_layout(definition)))
        for number, condition in enumerate(("id <= 3", "id > 3")):
            data = folder / "data"
            server.execute(
                f"SET time_zone = '+00:00'; SELECT {_fields(definition)} FROM {ZOO}.{name}"
                f" WHERE {condition} ORDER BY id INTO OUTFILE '{data}' CHARACTER SET utf8mb4"
            )
            chunk = f"{base}@{'@' * number}{number}.tsv.zst"
            (folder / chunk).write_bytes(zstandard.compress(data.read_bytes()))
            data.unlink()


def _layout(definition: TableDefinition) -> dict[str, Any]:
    encoded = {column.name: "FROM_BASE64" for column in definition.columns if _is_bytes(column)}
    options = {"columns": [column.name for column in definition.columns], "decodeColumns": encoded}
    options |= {"defaultCharacterSet": "utf8mb4", "fieldsTerminatedBy": "\t"}
    options |= {"fieldsEnclosedBy": "", "fieldsEscapedBy": "\\", "linesTerminatedBy": "\n"}
    return {"options": options, "includesData": True, "chunking": True, "extension": "tsv.zst"}


def _fields(definition: TableDefinition) -> str:
    return ", ".join(
        f"TO_BASE64(`{column.name}`)" if _is_bytes(column) else f"`{column.name}`"
        for column in definition.columns
    )


def _is_bytes(column: ColumnDefinition) -> bool:
    """True if MySQL Shell considers the column unsafe in a text file."""
    return column.collation == 63 or column.type in (T.GEOMETRY, T.VECTOR, T.BIT)
