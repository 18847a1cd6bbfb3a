"""`binlake verify` against a real server: equal for every type, then changes are reported."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.verify import against as against_server
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server
from tests.support.zoo import type_zoo
from tests.support.zoo.zoo_rows import ZOO, log_of, name_of

EVERY_TYPE = {
    "INT(9) UNSIGNED ZEROFILL": ["4294967295", "7"],
    "BIGINT UNSIGNED": ["18446744073709551615", "0"],
    "TINYINT": ["-128", "127"],
    "BIT(1)": ["1", "0"],
    "BIT(20)": ["524289", "0"],
    "BIT(64)": ["18446744073709551615", "1"],
    "YEAR": ["0", "2155"],
    "DECIMAL(10,3)": ["-0.5", "9999999.999"],
    "DECIMAL(65,30)": [f"-{'9' * 35}.{'1' * 30}", "0"],
    "FLOAT": ["1.17549435e-38", "-16777217"],
    "DOUBLE": ["-0e0", "5e-324"],
    "VARCHAR(20) CHARACTER SET latin1": ["'caf\u00e9 '", "''"],
    "CHAR(9)": ["'\u65e5\u672c'", "'a  '"],
    "ENUM('a','\u00fc') CHARACTER SET ucs2": ["'\u00fc'", "'a'"],
    "SET('x','y')": ["'x,y'", "''"],
    "BINARY(4)": ["x'00ff'", "x'20'"],
    "BLOB": ["x'ff00'", "''"],
    "DATE": ["'0001-01-01'", "'0000-00-00'"],
    "DATETIME(3)": ["'9999-12-31 23:59:59.5'", "'2020-02-30 01:02:03'"],
    "TIMESTAMP(6) NULL": ["'1970-01-01 00:00:01'", "'0000-00-00'"],
    "TIME(2)": ["'-838:59:59'", "'00:00:00.5'"],
    "JSON": ["""'{"b": [1, 1.50, 1e30], "a": "\u00e9"}'""", "'null'"],
    "GEOMETRY": ["ST_GeomFromText('POINT(1 2)', 4326)", "ST_GeomFromText('LINESTRING(0 0, 1 1)')"],
    "VECTOR(2)": ["STRING_TO_VECTOR('[1.5, -0.1]')", "STRING_TO_VECTOR('[0]')"],
}
"""Two values of each type. For all values see test_canonical_texts_against_servers."""


def every_type() -> type_zoo.Table:
    names = {f"c{n}": kind for n, kind in enumerate(EVERY_TYPE)}
    values = type_zoo.by_column(dict(zip(names, EVERY_TYPE.values(), strict=True)))
    create, statements = type_zoo.table("every", names, values)
    return create, [
        "SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'",
        *statements[len(type_zoo.SESSION) :],
    ]


TABLES = [
    every_type(),
    (
        "CREATE TABLE keyless (n INT, d DOUBLE, `a ``b.%` VARCHAR(90))",
        ["INSERT INTO keyless VALUES (1, -0e0, NULL), (1, -0e0, NULL), (1, 0, NULL)",
         f"INSERT INTO keyless VALUES (2, 1, '{'y' * 90}'), (3, NULL, ''), (3, NULL, '')"],
    ),
    (
        "CREATE TABLE pair (a INT, b VARCHAR(9), c INT, PRIMARY KEY (b, a))",
        ["INSERT INTO pair VALUES (1, 'x', 1), (2, 'x', 2), (3, 'é', 3)"],
    ),
    ("CREATE TABLE altered (id INT PRIMARY KEY)", ["INSERT INTO altered VALUES (1)"]),
]  # fmt: skip
CHANGES = f"""
    SET sql_log_bin = 0;
    UPDATE {ZOO}.every SET c10 = 0 WHERE id = 1;
    UPDATE {ZOO}.every SET c21 = '1.0' WHERE id = 2;
    DELETE FROM {ZOO}.pair WHERE a = 1;
    INSERT INTO {ZOO}.pair VALUES (4, 'new', 4);
    UPDATE {ZOO}.pair SET c = 0 WHERE a = 3;
    DELETE FROM {ZOO}.keyless WHERE n = 1 AND d = 0 LIMIT 1;
    INSERT INTO {ZOO}.keyless VALUES (3, NULL, '');
    ALTER TABLE {ZOO}.altered ADD COLUMN added INT
"""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, mysql: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return gold of the tables, from a log that contains their whole history."""
    mysql.reset_logs()
    log_of(mysql, TABLES)
    folder = tmp_path_factory.mktemp("verify") / "lake"
    settings = Settings(
        source="server", binlogs=str(mysql.binlog_folder), lake=str(folder), include=(f"{ZOO}.*",)
    )
    reports = run_layers(spark, settings, QuietProgress())
    assert all(report.clean for report in reports), reports
    return folder


def snapshot(script: Path, server: Server, file: Path, *options: str) -> Path:
    """Return the file that the script writes, without using anything of this repository."""
    place = (f"--socket={server.socket}", "--table", f"{ZOO}.*")
    command = [sys.executable, "-I", str(script), str(file), *place, *options]
    environment = {**os.environ, "MYSQL_PWD": ""}
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=environment)
    assert done.returncode == 0, done.stderr
    return file


def verify(lake: Path, *options: str | Path) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the JSON of `binlake verify`."""
    found = CliRunner().invoke(app, ["verify", "--lake", str(lake), "--json", *map(str, options)])
    assert found.exit_code in (0, 3), (found.output, found.exception)
    return found.exit_code, json.loads(found.stdout)


def keys(difference: dict[str, Any]) -> list[tuple[list[str | None], str, int, int]]:
    found = [(k["key"], k["what"], k["source"], k["gold"]) for k in difference["keys"]]
    assert difference["count"] == len(found)
    return sorted(found, key=str)


def test_all_is_equal_until_something_changes_outside_the_log(
    mysql: MySQLServer, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "snapshot.pyz"
    assert CliRunner().invoke(app, ["verify", "--script", str(script)]).exit_code == 0
    code, found = verify(lake, "--against", snapshot(script, mysql, tmp_path / "equal.gz"))
    against = found["against"]
    assert (code, against["differences"], against["position"]) == (0, [], "")
    assert against["compared"] == len(TABLES)
    assert {table["table"] for table in found["tables"]} == set(map(name_of, TABLES))
    assert all(t["complete"] and not t["held"] and t["rows"] for t in found["tables"])

    mysql.execute(CHANGES)
    code, found = verify(lake, "--against", snapshot(script, mysql, tmp_path / "changed"))
    changed = {table["table"]: table for table in found["against"]["differences"]}
    assert (code, found["against"]["position"]) == (3, "")
    assert changed.keys() == set(map(name_of, TABLES))
    assert keys(changed["every"]) == [(["1"], "different", 1, 1), (["2"], "different", 1, 1)]
    assert keys(changed["pair"]) == [
        (["new", "4"], "missing in gold", 1, 0),
        (["x", "1"], "in gold only", 0, 1),
        (["é", "3"], "different", 1, 1),
    ]
    lost, more = keys(changed["keyless"])
    assert lost[0][::2] == ["1", None]
    assert float.fromhex(lost[0][1] or "") == 0
    assert lost[1:] == ("in gold only", 0, 1)
    assert more == (["3", None, ""], "missing in gold", 1, 0)
    assert "added integer" in changed["altered"]["reason"]
    # More than are named are counted all the same.
    with monkeypatch.context() as patch:
        patch.setattr(against_server, "KEYS", 2)
        _, found = verify(lake, "--against", tmp_path / "changed", "--table", f"{ZOO}.pair")
    (pair,) = found["against"]["differences"]
    assert (pair["count"], len(pair["keys"])) == (3, 2)

    # A statement of the log: the snapshot is of another state, and what has no keys says so.
    mysql.execute(f"INSERT INTO {ZOO}.pair VALUES (5, 'later', 5)")
    later = snapshot(script, mysql, tmp_path / "later", "--no-keys")
    code, found = verify(lake, "--against", later, "--table", f"{ZOO}.p*")
    (pair,) = found["against"]["differences"]
    assert (code, pair["table"], pair["count"], pair["keys"]) == (3, "pair", None, [])
    assert "which gold's published snapshot lacks" in found["against"]["position"]
    assert "--no-keys" in pair["reason"]
    assert [table["table"] for table in found["tables"]] == ["pair"]


def test_an_incomplete_file_is_refused(mysql: MySQLServer, lake: Path, tmp_path: Path) -> None:
    script = tmp_path / "snapshot.pyz"
    CliRunner().invoke(app, ["verify", "--script", str(script)])
    whole = gzip.decompress(snapshot(script, mysql, tmp_path / "whole.gz").read_bytes())
    truncated = tmp_path / "truncated"
    truncated.write_bytes(whole[: whole.rindex(b"\n", 0, -1)])
    for file in (truncated, tmp_path / "none", Path(__file__)):
        found = CliRunner().invoke(app, ["verify", "--lake", str(lake), "--against", str(file)])
        assert getattr(found.exception, "exit_code", None) == 2, found.output
        assert str(file) in str(found.exception)


def test_terminal_output(lake: Path) -> None:
    found = CliRunner().invoke(app, ["verify", "--lake", str(lake), "--table", f"{ZOO}.pair"])
    assert found.exit_code == 0, found.output
    assert f"{ZOO}.pair" in found.output
    assert "complete" in found.output


WRITTEN = f"""
    DROP DATABASE IF EXISTS {ZOO}; CREATE DATABASE {ZOO}; USE {ZOO};
    CREATE TABLE one (id INT PRIMARY KEY AUTO_INCREMENT, v INT);
    CREATE TABLE other (id INT PRIMARY KEY AUTO_INCREMENT, v INT);
    INSERT INTO one (v) VALUES (1); INSERT INTO other (v) VALUES (1);
    INSERT INTO one (v) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n
        WHERE n < 900) SELECT n FROM n;
"""
WRITES = (
    "BEGIN",
    "INSERT INTO one (v) VALUES (1)",
    "UPDATE one SET v = v + 1 WHERE id % 7 = 0",
    "INSERT INTO other (v) SELECT COUNT(*) FROM one",
    "COMMIT",
)


def test_a_snapshot_is_consistent_under_writes(
    spark: SparkSession, mysql: MySQLServer, tmp_path: Path
) -> None:
    """Gold is brought to the position that the snapshot records, and equals it."""
    mysql.reset_logs()
    mysql.execute(WRITTEN)
    done, snapshots = threading.Event(), []

    def write() -> None:
        with mysql.connect(database=ZOO) as connection, connection.cursor() as cursor:
            while not done.is_set():
                for statement in WRITES:
                    cursor.execute(statement)

    script = tmp_path / "snapshot.pyz"
    CliRunner().invoke(app, ["verify", "--script", str(script)])
    with ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        try:
            for n in range(2):
                snapshots.append(snapshot(script, mysql, tmp_path / f"{n}.gz"))
        finally:
            done.set()
        writer.result()
    log = mysql.binlogs()[-1].read_bytes()
    positions = [
        json.loads(gzip.decompress(file.read_bytes()).splitlines()[0])["position"]
        for file in snapshots
    ]
    assert 0 < positions[0] < positions[1] < len(log)
    (tmp_path / "logs").mkdir()
    for file, position in zip(snapshots, positions, strict=True):
        (tmp_path / "logs" / mysql.binlogs()[-1].name).write_bytes(log[:position])
        lake = tmp_path / "lake"
        place = {"binlogs": str(tmp_path / "logs"), "lake": str(lake)}
        run_layers(spark, Settings.load(None, source="server", **place), QuietProgress())
        code, found = verify(lake, "--against", file)
        assert (code, found["against"]["differences"], found["against"]["position"]) == (0, [], "")
        assert found["against"]["compared"] == 2
