"""From a live server to gold by the commands alone: check, capture, run, verify, and all again."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from pipeline.cli.app import app
from tests.support.servers.server import Server

SCHEMA = "shop"
CREATED = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40), at DATETIME(6));
    CREATE TABLE visits (customer INT UNSIGNED, seen TIMESTAMP NULL, note TEXT);
    INSERT INTO customers (name, at) VALUES ('Ada', NOW(6)), ('Grace', NOW(6)), ('Zoë', NULL);
    INSERT INTO visits VALUES (1, NOW(), 'first'), (1, NOW(), 'first'), (4294967295, NULL, NULL);
"""
CHANGED = f"""
    USE {SCHEMA};
    UPDATE customers SET id = 10 WHERE name = 'Ada';
    DELETE FROM visits WHERE customer = 1 LIMIT 1;
    ALTER TABLE customers ADD COLUMN points BIGINT UNSIGNED DEFAULT 18446744073709551615;
    INSERT INTO customers (name, points) VALUES ('Edsger', 7);
"""


def binlake(*arguments: str) -> tuple[int, str]:
    """Return a command's exit code and output; its exceptions fail the test."""
    found = CliRunner().invoke(app, list(arguments))
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


@pytest.mark.parametrize("kind", ["mysql", pytest.param("mariadb", marks=pytest.mark.long)])
def test_gold_follows_a_live_server_by_commands_alone(
    kind: str, request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(kind)
    server.reset_logs()
    url, logs = f"{kind}://root@127.0.0.1:{server.port}", tmp_path / "logs"
    conf = tmp_path / "binlake.yml"
    lake = os.path.relpath(tmp_path / "lake")
    conf.write_text(f"source: {kind}\nlake: {lake}\ninclude: [{SCHEMA}.*]\n")
    given = ("--conf", str(conf))
    server.execute(CREATED)
    code, output = binlake("check", *given, "--server", url, "--json")
    assert {one["verdict"] for one in json.loads(output)["findings"]} <= {"ok", "advice", "problem"}
    assert code in (0, 3)
    for change in (None, CHANGED):
        if change is not None:
            server.execute(change)
        assert binlake("capture", *given, "--server", url, "--to", str(logs))[0] == 0
        assert binlake("run", *given, "--binlogs", str(logs))[0] == 0
        code, output = binlake("verify", *given, "--against", url, "--wait", "1", "--json")
        against = json.loads(output)["against"]
        assert (code, against["position"], against["differences"]) == (0, "", [])
        assert against["compared"] == 2
    server.execute("FLUSH BINARY LOGS")
    assert binlake("capture", *given, "--server", url, "--to", str(logs))[0] == 0
    for theirs in server.binlogs()[:-1]:
        ours = logs / theirs.name
        assert hashlib.sha256(ours.read_bytes()).digest() == (
            hashlib.sha256(theirs.read_bytes()).digest()
        )
