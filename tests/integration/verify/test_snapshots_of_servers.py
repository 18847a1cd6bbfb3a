"""Snapshots of real servers, as files: their contents, and that they leave no trace."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pymysql import MySQLError
from pymysql.converters import encoders

from pipeline.verify import snapshot
from pipeline.verify.live import staged_rows
from pipeline.verify.snapshot import Watcher, server_place, write_snapshot
from pipeline.verify.snapshot_columns import SnapshotTable, estimated_rows
from tests.support.servers.server import Server

SCHEMA = "snapped"
TABLES = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE one (id INT PRIMARY KEY, v INT); INSERT INTO one VALUES (1, NULL), (2, 2), (3, 3);
    CREATE TABLE keyless (v INT); INSERT INTO keyless VALUES (1), (1), (NULL)
"""


@pytest.fixture(params=["mysql", "mariadb", "newest_mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    found.execute(TABLES)
    return found


def connected(server: Server) -> Any:
    return server.connect(use_unicode=False, conv={**encoders})


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_nothing_is_written_to_the_servers_log(server: Server) -> None:
    """On a replica it would be a transaction that no other server has."""
    with connected(server) as connection, connection.cursor() as cursor:
        before = server_place(cursor)
        write_snapshot(connection, io.StringIO(), tables=[f"{SCHEMA}.*"])
        after = server_place(cursor)
    assert {**before, "at": ""} == {**after, "at": ""}
    assert before["gtid_set"]
    assert before["has_gtids"]


def test_rows_in_the_file_equal_those_read_directly(server: Server, tmp_path: Path) -> None:
    inside, beside = io.StringIO(), io.StringIO()
    with connected(server) as connection:
        write_snapshot(connection, inside, tables=[f"{SCHEMA}.*"])
        with staged_rows(str(tmp_path)) as rows:
            more: dict[str, Any] = {"rows_in": str(tmp_path), "keep": rows.keep}
            write_snapshot(connection, beside, tables=[f"{SCHEMA}.*"], **more)
    header, *found = lines(inside.getvalue())
    other, *rest = lines(beside.getvalue())
    assert (header["rows"], other["rows"]) == (None, str(tmp_path))
    listed = [line for line in found if isinstance(line, list)]
    assert [line for line in found if line not in listed] == rest
    staged = [
        [row["table"], row["chunk"], row["hash"].hex(), json.loads(row["key"])]
        for row in pq.read_table(tmp_path).to_pylist()
    ]
    assert sorted(staged, key=str) == sorted(listed, key=str)
    # Keyless tables come first, in order of names: equal rows are in one chunk, each counted.
    assert [line[3] for line in listed if line[0] == 0] == [["1"], ["1"], [None]]
    assert len({line[1] for line in listed if line[0] == 0 and line[3] == ["1"]}) == 1
    sums = {line["end"]: line["chunks"] for line in rest if "end" in line}
    for number in (0, 1):
        counted = Counter(line[1] for line in listed if line[0] == number)
        assert counted == {chunk: rows for chunk, rows, _ in sums[number]}
        assert counted.total() == 3


def test_after_reset_a_server_has_gtids_enabled_and_none_executed(server: Server) -> None:
    server.reset_logs()
    with connected(server) as connection, connection.cursor() as cursor:
        place = server_place(cursor)
    assert (place["has_gtids"], place["gtid_set"]) == (True, "")


def test_the_lock_of_a_lost_client_is_released_soon(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sends nothing more, and does not close its connection either."""
    monkeypatch.setattr(snapshot, "LOCKED_SECONDS", 1)
    place_of, left = snapshot.server_place, []

    def lost(cursor: Any) -> dict[str, Any]:
        with server.connect() as writer, writer.cursor() as other:
            other.execute("SET lock_wait_timeout = 30")
            # Waits for the lock, until the server gives up on its holder.
            other.execute(f"INSERT INTO {SCHEMA}.keyless VALUES (7)")
        left.append(True)
        return place_of(cursor)

    monkeypatch.setattr(snapshot, "server_place", lost)
    connection = connected(server)
    with pytest.raises(MySQLError):
        write_snapshot(connection, io.StringIO(), tables=[f"{SCHEMA}.*"])
    assert left == [True]


def test_the_session_timeout_is_restored_after_the_lock(server: Server) -> None:
    with connected(server) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION wait_timeout = 1234")
        write_snapshot(connection, io.StringIO(), tables=[f"{SCHEMA}.*"])
        cursor.execute("SELECT @@SESSION.wait_timeout")
        assert int(cursor.fetchall()[0][0]) == 1234


class _Locking(Watcher):
    """Locks a table as soon as the snapshot has begun, and drops another one."""

    def __init__(self, other: Any) -> None:
        self._other = other

    def begun(self, place: Mapping[str, Any]) -> None:
        """Called before any row is read."""
        with self._other.cursor() as cursor:
            cursor.execute(f"DROP TABLE {SCHEMA}.keyless")
            cursor.execute(f"LOCK TABLES {SCHEMA}.one WRITE")


def test_a_locked_table_is_reported_and_the_others_are_read(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = [s.replace("lock_wait_timeout = 5", "lock_wait_timeout = 1") for s in snapshot.SESSION]
    assert short != [*snapshot.SESSION]
    monkeypatch.setattr(snapshot, "SESSION", short)
    server.execute(f"CREATE TABLE {SCHEMA}.zoo (v INT); INSERT INTO {SCHEMA}.zoo VALUES (1), (2)")
    out = io.StringIO()
    with server.connect() as other, connected(server) as connection:
        write_snapshot(connection, out, tables=[f"{SCHEMA}.*"], watcher=_Locking(other))
    ends = [line for line in lines(out.getvalue()) if "end" in line]
    assert ["changed" in end for end in ends] == [True, True, False]
    assert "Lock wait timeout" in ends[1]["changed"]
    assert ends[2]["rows"] == 2


def test_row_counts_are_estimated_by_the_server(server: Server) -> None:
    server.execute(f"USE {SCHEMA}; ANALYZE TABLE one, keyless")
    with connected(server) as connection, connection.cursor() as cursor:
        one = SnapshotTable(SCHEMA, "one", (), (), transactional=True)
        assert estimated_rows(cursor, one) == 3
        assert estimated_rows(cursor, one._replace(table="gone")) == 0
