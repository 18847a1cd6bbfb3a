"""A server with default settings whose log has no CREATE TABLE: README's procedure, by commands.

MySQL's defaults are binlog_row_metadata=MINIMAL and no GTIDs, MariaDB's NO_LOG: the logs do not
name columns.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from pipeline.cli.app import app
from tests.e2e.test_live_server import binlake
from tests.support.servers.server import Server, ServerFactory
from tests.support.source.capturing import eventually

SCHEMA = "old"
DIGITS = f"(SELECT 0 AS n{' UNION ALL SELECT '.join(['', *map(str, range(1, 10))])})"
CREATED = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    SET SESSION sql_mode = '';
    CREATE TABLE orders (id INT UNSIGNED PRIMARY KEY, name VARCHAR(40) CHARACTER SET latin1,
        amount DECIMAL(9,2), state ENUM('new', 'paid') DEFAULT 'new', at TIMESTAMP(3) NULL);
    CREATE TABLE keyless (v INT UNSIGNED, note TEXT);
    CREATE TABLE days (day DATE, n INT, v INT, PRIMARY KEY (day, n));
    CREATE TABLE altered (id INT PRIMARY KEY, a VARCHAR(9), b VARCHAR(9));
    CREATE TABLE quiet (id INT PRIMARY KEY, v VARBINARY(3));
    INSERT INTO orders VALUES (1, 'é', 1.50, 'new', NOW(3)), (4294967295, NULL, -2, 'paid', NULL);
    INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (4294967295, NULL);
    INSERT INTO days SELECT ELT(1 + c.n, '0000-00-00', '2024-00-10', '2024-02-29'),
        a.n + 10 * b.n, 0 FROM {DIGITS} a, {DIGITS} b, {DIGITS} c WHERE c.n < 3;
    INSERT INTO altered VALUES (1, 'a', 'b'), (2, 'c', 'd');
    INSERT INTO quiet VALUES (1, x'00ff'), (2, NULL);
    FLUSH BINARY LOGS;
"""
CHANGED = (
    "UPDATE orders SET amount = amount + 1; INSERT INTO orders (id, name) VALUES (2, 'ß')",
    "DELETE FROM keyless WHERE v = 1 LIMIT 1; UPDATE days SET v = n WHERE n > 90",
    "UPDATE altered SET a = 'before' WHERE id = 1",
    "ALTER TABLE altered RENAME COLUMN a TO b, RENAME COLUMN b TO a",
    "UPDATE altered SET a = 'after' WHERE id = 2",
    "CREATE TABLE IF NOT EXISTS orders (id INT); ALTER TABLE orders ADD INDEX (amount)",
    "FLUSH BINARY LOGS",
    "UPDATE orders SET state = 'paid' WHERE id = 1; INSERT INTO altered VALUES (3, 'e', 'f')",
)
LATER = (
    "ALTER TABLE orders RENAME COLUMN name TO title, ADD COLUMN points BIGINT UNSIGNED DEFAULT 7",
    "INSERT INTO orders (id, title) VALUES (9, 'new')",
    "CREATE TABLE added (id INT PRIMARY KEY) AS SELECT id FROM quiet",
    "UPDATE quiet SET v = x'01' WHERE id = 2; UPDATE days SET v = 2 WHERE n = 91",
)


@pytest.fixture
def server(request: pytest.FixtureRequest, kind: str) -> Server:
    """Return a server with default settings, whose log begins after the tables' CREATE."""
    make: ServerFactory[Server] = request.getfixturevalue(f"{kind}_factory")
    options = {
        "mysql": (
            "--gtid-mode=OFF",
            "--enforce-gtid-consistency=OFF",
            "--binlog-row-metadata=MINIMAL",
        ),
        "mariadb": ("--binlog-row-metadata=NO_LOG",),
    }
    server = make(*options[kind])
    server.execute(CREATED)
    eventually(lambda: is_purged(server))
    change(server, CHANGED)
    return server


def ends(expected: int, *arguments: str) -> None:
    """Run a command that has to end with this exit code; a failure shows its output."""
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == expected, f"{found.output}\n{found.exception}"


def is_purged(server: Server) -> bool:
    """True if only the last log is left; MariaDB keeps logs that recovery would need."""
    server.execute(f"PURGE BINARY LOGS TO '{server.binlogs()[-1].name}'")
    return len(server.binlogs()) == 1


def change(server: Server, statements: tuple[str, ...]) -> None:
    for statement in statements:
        server.execute(f"USE {SCHEMA}; SET SESSION sql_mode = ''; {statement}")


def tables_of(lake: Path) -> dict[str, tuple[bool, bool]]:
    """Return whether each table is complete, and whether it is held."""
    output = json.loads(binlake("status", "--lake", str(lake), "--json")[1])
    return {one["table"]: (one["complete"], one["held"]) for one in output["tables"]}


@pytest.mark.parametrize("kind", ["mysql", pytest.param("mariadb", marks=pytest.mark.long)])
def test_readmes_procedure_on_a_server_with_defaults(
    server: Server, kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    url, logs = f"{kind}://root@127.0.0.1:{server.port}", tmp_path / "logs"
    lakes = {name: tmp_path / name for name in ("seeded", "alone")}
    given = {}
    for name, lake in lakes.items():
        conf = tmp_path / f"{name}.yml"
        conf.write_text(
            f"source: {name}\nlake: {lake}\nbinlogs: {logs}\ninclude: [{SCHEMA}.*]\n"
            f"server: {{host: 127.0.0.1, port: {server.port}, user: root}}\n"
            "types: {zero_dates: string}\nseed: {chunk_rows: 100}\n"
            f"capture: {{to: {logs}}}\n"
        )
        given[name] = ("--conf", str(conf))

    def equals_the_server(name: str) -> None:
        code, output = binlake("verify", *given[name], "--against", url, "--wait", "1", "--json")
        against = json.loads(output)["against"]
        assert (code, against["position"], against["differences"]) == (0, "", [])

    assert binlake("check", *given["seeded"])[0] in (0, 3)
    ends(0, "capture", *given["seeded"])

    # Without a seed, tables get their column names from the definitions the capture keeps, except
    # one whose columns have changed places since the log began.
    ends(3, "run", *given["alone"])
    assert tables_of(lakes["alone"]) == {
        **dict.fromkeys(("orders", "keyless", "days"), (False, False)),
        "altered": (False, True),
    }

    ends(0, "seed", *given["seeded"])
    if kind == "mariadb":  # it may log meanwhile which of its logs recovery needs
        ends(0, "capture", *given["seeded"])
    ends(0, "run", *given["seeded"])
    every = ("orders", "keyless", "days", "altered", "quiet")
    assert tables_of(lakes["seeded"]) == dict.fromkeys(every, (True, False))
    equals_the_server("seeded")

    # A seed also resumes what was held.
    ends(0, "seed", *given["alone"])
    ends(0, "run", *given["alone"])
    ends(0, "status", "--lake", str(lakes["alone"]), "--check")
    last = json.loads(binlake("runs", "--lake", str(lakes["alone"]), "--last", "1", "--json")[1])
    assert (last["outcome"], dict(last["rows_applied_by_table"])["old.quiet"]) == ("done", 2)
    assert tables_of(lakes["alone"]) == dict.fromkeys(every, (True, False))
    equals_the_server("alone")

    change(server, LATER)
    ends(0, "capture", *given["seeded"])
    ends(0, "run", *given["seeded"])
    assert tables_of(lakes["seeded"]) == dict.fromkeys((*every, "added"), (True, False))
    equals_the_server("seeded")
