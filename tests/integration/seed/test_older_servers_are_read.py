"""Reads of older servers by seed and verify: tables, chunks of keys, snapshots, log positions."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest

from decoder import TypeOptions
from decoder.columns.registry import row_type
from decoder.constants import ColumnType
from pipeline.schema_history import TableName
from pipeline.seed.chunks import chunks
from pipeline.seed.consistent import snapshot
from pipeline.seed.server import source_server
from pipeline.seed.source_table import source_table
from pipeline.seed.values import RowReader
from pipeline.settings import Settings
from pipeline.source.server.create_statements import user_tables
from pipeline.verify.snapshot import write_snapshot
from tests.integration.seed.test_seed import SCHEMA, TABLES
from tests.support.seed.seed_rows import differences
from tests.support.servers.older_servers import KINDS, MySQL57Server, running
from tests.support.servers.server import Server
from tests.support.zoo import older_zoo
from tests.support.zoo.zoo_rows import ZOO, inserted, log_of, names_of

pytestmark = pytest.mark.long

CHUNK = 400


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    kind: type[Server] = request.param
    with running(kind, tmp_path_factory.mktemp(kind.__name__) / "server") as started:
        yield started


def settings_of(server: Server, schema: str) -> Settings:
    url = f"mysql://root@127.0.0.1:{server.port}"
    return Settings.load(None, include=[f"{schema}.*"], server=url)


def test_tables_of_every_type_are_read_consistently_and_as_logged(
    server: Server,
) -> None:
    tables = older_zoo.TABLES[type(server)]
    logged = inserted(log_of(server, tables), names=names_of(tables))
    options = TypeOptions()
    settings = settings_of(server, ZOO)
    with source_server(settings) as source:
        names = [table for _, table in user_tables(source.connection, settings.wanted)]
        assert names == sorted(logged)
        with snapshot(source.login, source.version) as found:
            assert found.place.file == server.binlogs()[-1].name
            for name, (definition, ours) in logged.items():
                table = source_table(source.connection, source.version, TableName(ZOO, name))
                assert row_type(table.definition, options) == row_type(definition, options)
                batches = list(found.rows(table, RowReader(table.definition, options)))
                for place, column in enumerate(definition.columns):
                    read = [value for one in batches for value in one.column(place).to_pylist()]
                    values = [sorted(map(repr, read)), sorted(map(repr, ours[place].to_pylist()))]
                    if not prints_otherwise(server, column.type):
                        assert differences(column.name, *values)[:5] == []


def prints_otherwise(server: Server, kind: ColumnType) -> bool:
    """True if the server prints integral doubles in JSON as integers; `test_older_servers`
    compares these by value.
    """
    return isinstance(server, MySQL57Server) and kind == ColumnType.JSON


def test_chunks_of_a_key_contain_all_rows_once(server: Server) -> None:
    server.execute(TABLES)
    with source_server(settings_of(server, SCHEMA)) as source, server.connect() as connection:
        for name in ("item", "named"):
            table = source_table(source.connection, source.version, TableName(SCHEMA, name))
            parts = chunks(source.connection, table, CHUNK)
            assert len(parts) > 1
            with connection.cursor() as cursor:
                read: list[object] = []
                for part in parts:
                    cursor.execute(table.select(part))
                    read += cursor.fetchall()
                cursor.execute(table.select())
                assert sorted(map(repr, read)) == sorted(map(repr, cursor.fetchall()))


def test_log_positions_around_a_seed_are_in_order(server: Server) -> None:
    server.execute(TABLES)
    with source_server(settings_of(server, SCHEMA)) as source:
        before = source.places.settled()
        server.execute(f"DELETE FROM {SCHEMA}.item WHERE id < 9")
        after = source.places.end()
    assert before < after
    assert after.position == server.binlogs()[-1].stat().st_size


def test_a_snapshot_for_verify_contains_all_rows(server: Server) -> None:
    server.execute(TABLES)
    out = io.StringIO()
    with server.connect() as connection:
        assert write_snapshot(connection, out, tables=[f"{SCHEMA}.*"]) == 4
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines[0]["file"] == server.binlogs()[-1].name
    counted = [line["rows"] for line in lines if isinstance(line, dict) and "end" in line]
    assert counted == [49, 3000, 3000, 2]
