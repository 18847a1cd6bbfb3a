"""Bronze over the folder of a server that encrypts: it stores what that server sends to
replicas.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from decoder.encryption.header import HEADER_LENGTH, EncryptionHeader
from decoder.encryption.keyring import replication_keys
from pipeline.bronze import read_files
from pipeline.bronze.job import run
from pipeline.bronze.tables import FileRow
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import ALL_ROWS
from pipeline.lake.ledger.ledger_table import batches
from pipeline.lake.tables.choice import tables_of
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.bronze.restore import restore
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.spark.no_spark import NEVER_STARTED

ROTATE = "ALTER INSTANCE ROTATE BINLOG MASTER KEY"


@dataclass
class Source:
    """A server that encrypts its logs, in files of some kilobytes."""

    server: MySQLServer
    keyring: Path

    def load(self, seed: int) -> None:
        with self.server.connect() as connection:
            connection.cursor().execute(f"DROP DATABASE IF EXISTS {traffic.SCHEMA}")
            traffic.run(connection, 30, seed=seed, create=True)

    def header(self, file: Path) -> EncryptionHeader:
        return EncryptionHeader.parse(file.read_bytes())

    def key(self, file: Path) -> bytes:
        return replication_keys(self.keyring.read_bytes())[self.header(file).key_id]


@pytest.fixture(scope="module")
def source(mysql_factory: MySQLFactory, tmp_path_factory: pytest.TempPathFactory) -> Source:
    keyring = tmp_path_factory.mktemp("secrets") / "keyring"
    options = ("--binlog-encryption=ON", "--max-binlog-size=12288")
    return Source(mysql_factory(*options, keyring=keyring), keyring)


class Ingest:
    """Bronze's job over a folder, with or without keys."""

    def __init__(self, binlogs: Path, lake: Path) -> None:
        self.binlogs = binlogs
        self.lake = Lake(str(lake))

    def run(self, **encryption: object) -> LayerReport:
        settings = Settings.load(
            None,
            source="server",
            binlogs=str(self.binlogs),
            lake=self.lake.root,
            encryption=encryption,
        )
        return run(NEVER_STARTED, settings, QuietProgress())

    def rows(self) -> list[FileRow]:
        return read_files(NEVER_STARTED, self.lake, "server")

    def restored(self, row: FileRow) -> bytes:
        return b"".join(restore(NEVER_STARTED, self.lake, "server", row.file))


def test_bronze_equals_what_the_server_sends_before_and_after_a_key_rotation(
    source: Source, tmp_path: Path
) -> None:
    server = source.server
    server.reset_logs()
    source.load(seed=1)
    ingest = Ingest(server.binlog_folder, tmp_path / "lake")

    report = ingest.run()
    assert ingest.rows() == []
    assert len(report.faults) == len(server.binlogs()) > 2
    for file, fault in zip(server.binlogs(), report.faults, strict=True):
        start = f"{file.name}, position 0: the file is encrypted with the key MySQLRepl"
        assert fault.startswith(start)
        assert source.header(file).key_id in fault
        assert "encryption.keyring in the settings" in fault

    assert ingest.run(keyring=str(source.keyring)).clean
    *closed, current = ingest.rows()
    assert [row.state for row in closed] == ["complete"] * len(closed)
    # An open file is ingested up to its last complete transaction.
    ((_, position, *_),) = server.execute("SHOW BINARY LOG STATUS")
    assert (current.state, current.in_use, current.ingested_upto) == ("open", True, position)
    assert current.size == server.binlogs()[-1].stat().st_size - HEADER_LENGTH

    before = {file.name: file.read_bytes() for file in server.binlogs()}
    server.execute(ROTATE)
    assert source.header(server.binlogs()[0]) != EncryptionHeader.parse(before[closed[0].file])
    source.load(seed=2)
    assert ingest.run(keyring=str(source.keyring)).clean
    rows = {row.file: row for row in ingest.rows()}
    assert {row.file: rows[row.file].sha256 for row in closed} == {
        row.file: row.sha256 for row in closed
    }
    sent = tmp_path / "sent"
    sent.mkdir()
    logs = [server.sent_log(file.name, sent) for file in server.binlogs()[:-1]]
    for log in logs:
        assert rows[log.name].sha256 == hashlib.sha256(log.read_bytes()).hexdigest()
    assert ingest.restored(rows[logs[0].name]) == logs[0].read_bytes()


def test_a_copy_from_before_a_rotation_names_the_missing_key(
    source: Source, tmp_path: Path
) -> None:
    server = source.server
    server.reset_logs()
    source.load(seed=3)
    copies = tmp_path / "copies"
    copies.mkdir()
    first, second = server.binlogs()[:2]
    shutil.copy(first, copies)
    shutil.copy(second, copies)
    old_key, old_id = source.key(first), source.header(first).key_id
    password = source.header(first).password(old_key)
    server.execute(ROTATE)
    shutil.copy(second, copies)

    ingest = Ingest(copies, tmp_path / "lake")
    (fault,) = ingest.run(keyring=str(source.keyring)).faults
    start = f"{first.name}, position 0: the file is encrypted with the key {old_id},"
    assert fault.startswith(start)
    assert "which is not in the keyring" in fault
    assert "rotated" in fault
    # A file keeps its password, whichever key encrypted that.
    assert source.header(first).password(source.key(first)) == password
    fresh = Ingest(copies, tmp_path / "fresh")
    given = {"keyring": str(source.keyring), "passwords": {first.name: password.hex()}}
    assert fresh.run(**given).clean
    assert [row.state for row in fresh.rows()] == ["complete"] * 2


def test_the_ledger_contains_no_secret(source: Source, tmp_path: Path) -> None:
    source.server.reset_logs()
    source.load(seed=4)
    ingest = Ingest(source.server.binlog_folder, tmp_path / "lake")
    assert ingest.run(keyring=str(source.keyring)).clean
    tables = tables_of(NEVER_STARTED, ingest.lake)
    table = batches(ingest.lake)
    ledger = str(tables.read(table, ALL_ROWS, table.schema.names).to_pylist())
    first = source.server.binlogs()[0]
    assert first.name in ledger
    for secret in (source.key(first), source.header(first).password(source.key(first))):
        assert secret.hex() not in ledger.lower()
        assert json.dumps(list(secret), separators=(",", ":")) not in ledger.replace(" ", "")
