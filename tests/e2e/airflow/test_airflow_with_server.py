"""A running server's tables replicated to gold and verified, by Airflow's runner alone.

The real commands run in local mode; an Airflow connection supplies the server.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.dags.dag_run import Airflow
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.process_list import command_lines_with

pytestmark = pytest.mark.long

SCHEMA = "dag_shop"
PASSWORD = "s3/cr:t@ w%rd-of-seeds"
WRITTEN = quote(PASSWORD, safe="")
DIGITS = f"(SELECT 0 AS n{' UNION ALL SELECT '.join(['', *map(str, range(1, 10))])})"
CREATED = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE orders (
        id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT, customer VARCHAR(20), total DECIMAL(9, 2),
        at TIMESTAMP(3) NULL
    );
    CREATE TABLE visits (customer VARCHAR(20), note CHAR(3));
    CREATE TABLE quiet (id INT PRIMARY KEY, content BLOB);
    INSERT INTO orders (customer, total, at)
        SELECT CONCAT('ü', i), i / 100, NOW(3) FROM (
            SELECT a.n + 10 * b.n + 100 * c.n AS i FROM {DIGITS} a, {DIGITS} b, {DIGITS} c
        ) numbers;
    INSERT INTO visits SELECT CONCAT('v', id % 5), 'x' FROM orders WHERE id < 50;
    INSERT INTO quiet VALUES (1, x'00ff'), (2, NULL);
    DROP USER IF EXISTS lake; CREATE USER lake IDENTIFIED BY '{PASSWORD}';
    GRANT SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO lake
"""
WRITES = (
    "BEGIN",
    "INSERT INTO orders (id, customer, total) VALUES ({0} + 10000, 'new', {0})",
    "UPDATE orders SET total = total + 1 WHERE id % 97 = {0} % 97",
    "UPDATE orders SET id = id + 1000000 WHERE id = {0}",
    "DELETE FROM orders WHERE id = {0} + 400",
    "INSERT INTO visits VALUES ('y', 'y'), ('y', 'y')",
    "DELETE FROM visits WHERE note = 'y' LIMIT 1",
    "COMMIT",
)
REPLICATED = ["capture", "seed", "run", "check"]


@dataclass
class Ended:
    """The results and output of two runs of the replication and one of verify."""

    folder: Path
    replications: list[dict[str, Any]]
    verified: dict[str, Any]
    output: list[str]
    shown: list[str]
    """Command lines that contained the password."""


@contextmanager
def written(server: MySQLServer) -> Iterator[None]:
    """Write before and during the `with`, without pause."""
    begun, done = threading.Event(), threading.Event()

    def write() -> None:
        with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            number = 0
            while not done.is_set():
                number += 1
                for statement in WRITES:
                    cursor.execute(statement.format(number))
                begun.set()
                done.wait(0.2)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            assert begun.wait(60)
            yield
        finally:
            done.set()
        writer.result()


@pytest.fixture(scope="module")
def ended(mysql: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Replicate tables that precede the log under a writer, replicate again, and verify."""
    folder = tmp_path_factory.mktemp("airflow")
    mysql.execute(CREATED)
    mysql.reset_logs()
    connection = {
        "conn_type": "mysql",
        "host": "127.0.0.1",
        "port": mysql.port,
        "login": "lake",
        "password": PASSWORD,
    }
    airflow = Airflow(folder, AIRFLOW_CONN_SHOP_DB=json.dumps(connection))
    settings = {
        "source": "shop",
        "binlogs": str(folder / "landed"),
        "capture": {"to": str(folder / "landed")},
        "lake": str(folder / "lake"),
        "include": [f"{SCHEMA}.*"],
        "seed": {"chunk_rows": 300, "parallel": 2},
        "airflow": {
            "server": "shop_db",
            "capture": True,
            "seed": True,
            "verify": "@weekly",
            "verify_wait": "1 minute",
            "retries": 0,
        },
    }
    (airflow.sources / "shop.yml").write_text(json.dumps(settings))
    output = []
    with command_lines_with(PASSWORD, WRITTEN) as shown:
        with written(mysql):
            (first,) = airflow.run(("binlake_shop_replication", {}))
        output.append(airflow.output)
        second, verified = airflow.run(
            ("binlake_shop_replication", {}), ("binlake_shop_verify", {})
        )
        output.append(airflow.output)
    return Ended(folder, [first, second], verified, output, shown)


def test_every_task_succeeds_in_order(ended: Ended) -> None:
    for run in ended.replications:
        states = {task: state for task, _, state, _ in run["tasks"]}
        assert (run["state"], set(states.values())) == ("success", {"success"})
        assert [task for task in states if task in REPLICATED] == REPLICATED
        assert [asset for asset, _ in run["events"]] == ["binlake_shop_gold"]


def test_gold_equals_the_server(ended: Ended) -> None:
    assert ended.verified["state"] == "success"
    assert [task for task, *_ in ended.verified["tasks"]] == ["verify"]


def test_the_password_appears_nowhere(ended: Ended) -> None:
    """Not in any command line, log, or file: of the lake, the landed logs, or Airflow."""
    assert ended.shown == []
    kept = [file for file in ended.folder.rglob("*") if file.is_file()]
    assert any(file.name == "airflow.db" for file in kept)
    assert any("ledger/runs" in str(file) for file in kept)
    for content in [*(file.read_bytes() for file in kept), *map(str.encode, ended.output)]:
        assert PASSWORD.encode() not in content
        assert WRITTEN.encode() not in content
