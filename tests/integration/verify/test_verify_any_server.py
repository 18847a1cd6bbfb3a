"""`binlake verify` against a primary and its replica: by GTIDs, and chunk by chunk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.verify import against, gold_table
from pipeline.verify.against import Comparison
from pipeline.verify.matching import LaggingServerError, OtherLogError
from pipeline.verify.run import verify_with_server
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mysql import MySQLFactory
from tests.support.servers.replicas import follow, replicate
from tests.support.servers.server import Server

SCHEMA = "shop"
ROWS = 60
NUMBERS = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows})"
NOCASE = "VARCHAR(20) COLLATE utf8mb4_general_ci"
KEYS: Mapping[str, tuple[str, str, str]] = {
    # columns; the values of the n-th row; the key
    "unsigned_numbers": (
        "k BIGINT UNSIGNED, v INT",
        "18446744073709551615 - n, NULLIF(n % 5, 0)",
        "k",
    ),
    # In the server's order A, a and ä are one letter, in Spark's they are far apart.
    "letters": (
        f"k {NOCASE}, v INT",
        "CONCAT(ELT(1 + n % 4, 'a', 'B', 'ä', 'Z'), n), NULLIF(n % 5, 0)",
        "k",
    ),
    "bytes": ("k VARBINARY(9), v INT", "UNHEX(CONCAT('FF00', HEX(n + 4096))), n", "k"),
    "pairs": (
        f"v INT, b {NOCASE} NOT NULL, a DECIMAL(9, 2) NOT NULL",
        "NULL, ELT(1 + n % 3, 'x', 'Y', 'é'), -n / 4",
        "b, a",
    ),
    "keyless": ("v INT, t VARCHAR(20)", "n DIV 3, IF(n % 2, NULL, 'é')", ""),
}
CHANGES = f"""
    UPDATE {SCHEMA}.unsigned_numbers SET v = -1
        WHERE k IN (18446744073709551615 - 3, 18446744073709551615 - 44);
    DELETE FROM {SCHEMA}.unsigned_numbers WHERE k = 18446744073709551615 - 9;
    UPDATE {SCHEMA}.letters SET k = 'ÄÄ' WHERE k = 'a12';
    UPDATE {SCHEMA}.letters SET v = 9 WHERE k = 'b13';
    INSERT INTO {SCHEMA}.bytes VALUES (x'00', NULL);
    UPDATE {SCHEMA}.pairs SET v = 1 WHERE a IN (-3.25, -4.75);
    INSERT INTO {SCHEMA}.keyless VALUES (1, NULL);
    DELETE FROM {SCHEMA}.keyless WHERE v = 8 AND t IS NOT NULL
"""
REPORTED = {
    "unsigned_numbers": [
        (("18446744073709551571",), "different", 1, 1),
        (("18446744073709551606",), "in gold only", 0, 1),
        (("18446744073709551612",), "different", 1, 1),
    ],
    "letters": [
        (("B13",), "different", 1, 1),
        (("a12",), "in gold only", 0, 1),
        (("ÄÄ",), "missing in gold", 1, 0),
    ],
    "bytes": [(("00",), "missing in gold", 1, 0)],
    "pairs": [(("Y", "-3.25"), "different", 1, 1), (("Y", "-4.75"), "different", 1, 1)],
    "keyless": [(("1", None), "missing in gold", 1, 0), (("8", "é"), "in gold only", 0, 2)],
}


def fill(server: Server) -> None:
    """Fill tables with every kind of key, of which each chunk has a few rows."""
    server.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    for table, (columns, values, key) in KEYS.items():
        primary = f", PRIMARY KEY ({key})" if key else ""
        server.execute(f"CREATE TABLE {SCHEMA}.{table} ({columns}{primary})")
        numbers = NUMBERS.format(rows=ROWS)
        server.execute(f"INSERT INTO {SCHEMA}.{table} {numbers} SELECT {values} FROM n")


def settings_of(log: Server, lake: Path, against: Server, **more: Any) -> Settings:
    """Return settings of a lake that reads the primary's log and is compared with another
    server.
    """
    return Settings.load(
        None,
        source="shop",
        binlogs=str(log.binlog_folder),
        lake=str(lake),
        include=[f"{SCHEMA}.*"],
        server=f"mysql://root@127.0.0.1:{against.port}",
        **more,
    )


def verified(
    spark: SparkSession, settings: Settings, *tables: str, patience: float = 20
) -> Comparison:
    progress = QuietProgress()
    found = verify_with_server(spark, settings, progress, tables=tables, patience=patience).against
    assert found is not None
    return found


def differences(found: Comparison) -> dict[str, list[Any]]:
    return {
        table.table: sorted(
            ((key.key, key.what, key.source, key.gold) for key in table.keys), key=str
        )
        for table in found.differences
    }


@pytest.mark.parametrize("kind", ["mysql", pytest.param("mariadb", marks=pytest.mark.long)])
def test_a_primary_and_its_replica_are_compared_with_the_same_lake(
    kind: str,
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Chunks of large tables are added up in Spark: one of the two does that here.
    monkeypatch.setattr(gold_table, "FEW", 1 if kind == "mysql" else 16)
    # And where more of them differ than a condition names, all rows are looked at.
    monkeypatch.setattr(against, "NAMED_CHUNKS", 100 if kind == "mysql" else 1)
    factory = request.getfixturevalue(f"{kind}_factory")
    keep = "--log-replica-updates" if kind == "mysql" else "--log-slave-updates"
    # The replica's own log has other positions, in files that begin at another number.
    primary, replica = (factory(f"--server-id={n}", keep) for n in (11, 12))
    for server in (primary, replica):
        server.reset_logs()
    for _ in range(3):
        replica.flush_logs()
    replicate(primary, replica)
    fill(primary)
    follow(primary, replica)
    on_primary, on_replica = (settings_of(primary, tmp_path, one) for one in (primary, replica))
    run_layers(spark, on_primary, QuietProgress())
    found = verified(spark, on_replica)
    assert (found.position, found.differences, found.compared) == ("", (), len(KEYS))

    off = "SET sql_log_bin = 0;"
    replica.execute(off + CHANGES)
    found = verified(spark, on_replica)
    assert (found.position, differences(found)) == ("", REPORTED)
    keyless = f"{SCHEMA}.keyless"
    assert verified(spark, on_primary, keyless).equal

    # A stopped replica lacks what gold has; once it has caught up, it is compared.
    replica.execute("STOP REPLICA" if kind == "mysql" else "STOP SLAVE")
    primary.execute(f"INSERT INTO {SCHEMA}.keyless VALUES (1, NULL)")
    run_layers(spark, on_primary, QuietProgress())
    with pytest.raises(LaggingServerError, match="the server lacks"):
        verified(spark, on_replica, patience=1)
    replica.execute("START REPLICA" if kind == "mysql" else "START SLAVE")
    assert differences(verified(spark, on_replica, keyless)) == {"keyless": REPORTED["keyless"]}

    # The primary counts from 1 again: gold has the same numbers from before.
    primary.reset_logs()
    primary.execute(f"INSERT INTO {SCHEMA}.keyless VALUES (6, NULL)")
    with pytest.raises(LaggingServerError, match="has lost"):
        verified(spark, on_primary, patience=600)
    after_reset = settings_of(primary, tmp_path, primary, given_up=[1])
    run_layers(spark, after_reset, QuietProgress())
    found = verified(spark, after_reset, keyless)
    assert (found.position, found.differences) == ("", ())


@pytest.mark.long
def test_without_gtids_only_the_logs_own_server_is_compared(
    spark: SparkSession, mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    options = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    server, other = (mysql_factory(f"--server-id={n}", *options) for n in (21, 22))
    for one in (server, other):
        one.reset_logs()
        one.execute(f"CREATE DATABASE {SCHEMA}; CREATE TABLE {SCHEMA}.one (id INT PRIMARY KEY)")
        one.execute(f"INSERT INTO {SCHEMA}.one VALUES (1)")
    own = settings_of(server, tmp_path, server)
    run_layers(spark, own, QuietProgress())
    assert verified(spark, own).equal
    with pytest.raises(OtherLogError, match="its server_id is 22"):
        verified(spark, settings_of(server, tmp_path, other))
    # After RESET the place is before where gold was: it is not taken for that of the old log.
    server.reset_logs()
    server.execute(f"INSERT INTO {SCHEMA}.one VALUES (2)")
    assert "gold's published snapshot is later" in verified(spark, own, patience=1).position
    # Its end was lost with it: what follows waits until that is accepted.
    run_layers(spark, own, QuietProgress())
    assert "is not fully decoded" in verified(spark, own, patience=1).position
    own = settings_of(server, tmp_path, server, given_up=[1])
    run_layers(spark, own, QuietProgress())
    assert verified(spark, own).equal
