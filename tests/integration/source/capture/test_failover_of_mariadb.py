"""MariaDB's GTIDs: the server that wrote a transaction, if several used the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.source import GtidSet
from pipeline.source.capture.errors import AnotherLogError
from pipeline.source.capture.landed_gtids import gtids_of
from tests.support.servers.mariadb import MariaDBFactory
from tests.support.servers.replicas import follow, promote, replicate
from tests.support.source.capturing import capture, differing
from tests.support.source.failing_over import TABLES, insert, started, state_of


def test_equal_gtid_numbers_of_two_mariadb_servers_are_distinguished(
    mariadb_factory: MariaDBFactory, tmp_path: Path
) -> None:
    first, second = started(mariadb_factory, 2)
    replicate(first, second)
    first.execute(TABLES)
    follow(first, second)
    second.execute("STOP SLAVE")
    insert(first, 1)
    capture(first, tmp_path)
    ((lost_gtid,),) = first.execute("SELECT @@gtid_binlog_pos")
    first.kill()
    # It never gets that transaction, and gives its number to one of its own.
    promote(second)
    insert(second, 2)
    ((own_gtid,),) = second.execute("SELECT @@gtid_binlog_pos")
    assert lost_gtid.split("-")[::2] == own_gtid.split("-")[::2]
    second.flush_logs()
    insert(second, 3)
    state = capture(second, tmp_path)
    # By their numbers alone the second log would do.
    assert (state.first_file, state.lacking) == ("binlog.000001", lost_gtid)
    assert not differing(second, tmp_path / "turn-0002")


def test_a_mariadb_replica_from_a_copy_without_later_transactions_is_accepted(
    mariadb_factory: MariaDBFactory, tmp_path: Path
) -> None:
    first, second = started(mariadb_factory, 2)
    first.execute(TABLES)
    capture(first, tmp_path)
    ((copied,),) = first.execute("SELECT @@gtid_binlog_pos")
    # As a dump with --gtid --master-data does it, read in without logging.
    second.execute(f"SET sql_log_bin = 0; {TABLES}")
    with pytest.raises(AnotherLogError, match="shares no transaction"):
        capture(second, tmp_path)
    second.execute(f"SET GLOBAL gtid_slave_pos = '{copied}'")
    state = capture(second, tmp_path)
    assert (state.turn, state.first_file, state.lacking) == (2, "binlog.000001", "")
    insert(second, 1)
    assert (capture(second, tmp_path).lacking, state_of(tmp_path).turn) == ("", 2)
    assert not differing(second, tmp_path / "turn-0002")


def test_equal_gtid_numbers_of_two_servers_in_one_log_are_all_landed(
    mariadb_factory: MariaDBFactory, tmp_path: Path
) -> None:
    first, second = started(mariadb_factory, 2)
    replicate(first, second)
    first.execute(TABLES)
    follow(first, second)
    second.execute("STOP SLAVE")
    insert(second, 1)
    insert(first, 2)
    insert(first, 3)
    second.execute("START SLAVE")
    follow(first, second)
    second.flush_logs()
    capture(first, tmp_path)
    state = capture(second, tmp_path)
    # By the numbers of the domain alone the second log would do, and the first insert be lost.
    assert (state.turn, state.first_file, state.lacking) == (2, "binlog.000001", "")
    ((executed,),) = second.execute("SELECT @@gtid_binlog_state")
    held = GtidSet.of(*(str(gtids_of(path) or "") for path in tmp_path.rglob("binlog.0*")))
    assert held == GtidSet.of(executed)
    assert {server for _, server in held.last} == {11, 12}
