"""`binlake init` with real servers: `binlake config` and `binlake check` accept what it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from binlake import check
from pipeline.settings import Settings
from tests.support.servers.server import Server
from tests.support.source.checking import PASSWORD

SETUP = f"""
CREATE DATABASE IF NOT EXISTS `init shop`;
CREATE TABLE IF NOT EXISTS `init shop`.orders (id INT PRIMARY KEY, note VARCHAR(20));
DROP USER IF EXISTS starter@'%';
CREATE USER starter@'%' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO starter@'%';
"""
SECRET = {"BINLAKE_SERVER_PASSWORD": PASSWORD}
CLEAN = "DROP DATABASE `init shop`; DROP USER starter@'%'"


def binlake(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    root = str(Path(__file__).parents[3])
    return subprocess.run(
        [sys.executable, "-m", "pipeline.cli", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def url(server: Server) -> str:
    return f"mysql://starter@127.0.0.1:{server.port}"


@pytest.mark.parametrize("which", ["mysql", "mariadb"])
def test_the_file_of_a_real_server_is_accepted(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    server: Server = request.getfixturevalue(which)
    server.execute(SETUP)
    made = binlake(tmp_path, "init", "--server", url(server), "--to", "shop.yml", **SECRET)
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "shop.yml").read_text()
    assert PASSWORD not in text + made.stdout + made.stderr
    config = binlake(tmp_path, "config", "--conf", "shop.yml", "--json")
    assert config.returncode == 0, config.stderr
    shown = json.loads(config.stdout)
    assert "init shop.*" in shown["include"]
    assert shown["server"]["host"] == "127.0.0.1"
    assert Settings.load(tmp_path / "shop.yml").wanted("init shop", "orders")
    # It takes from the server what `check` compares with the server.
    report = json.loads(binlake(tmp_path, "check", "--conf", "shop.yml", "--json", **SECRET).stdout)
    with monkeypatch.context() as patch:
        patch.setenv("BINLAKE_SERVER_PASSWORD", PASSWORD)
        assert json.loads(check(tmp_path / "shop.yml").to_json()) == report
    found = {one["check"]: one["verdict"] for one in report["findings"]}
    assert (found["lower_case_table_names"], found["system_time_zone"]) == ("ok", "ok")
    to_do = {check for check, verdict in found.items() if verdict != "ok"}
    assert [check for check in to_do if f": {check}: " not in text] == []
    server.execute(CLEAN)


def test_what_is_given_is_written_but_no_password(mysql: Server, tmp_path: Path) -> None:
    """The command asks the server, whatever its kind, in the same way as above."""
    mysql.execute(SETUP)
    (tmp_path / "shop.yml").touch()
    again = binlake(tmp_path, "init", "--server", url(mysql), "--to", "shop.yml", **SECRET)
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    given = f"mysql://starter:{PASSWORD}@127.0.0.1:{mysql.port}"
    refused = binlake(tmp_path, "init", "--server", given, "--to", "other.yml")
    assert (refused.returncode, PASSWORD in refused.stderr) == (2, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shop.yml"]
    forced = ("init", "--to", "shop.yml", "--force", "--lake", "lake", "--source", "mine")
    assert binlake(tmp_path, *forced, BINLAKE_SERVER=given).returncode == 0
    values = yaml.safe_load((tmp_path / "shop.yml").read_text())
    assert (values["source"], values["lake"]) == ("mine", str(tmp_path / "lake"))
    assert PASSWORD not in (tmp_path / "shop.yml").read_text()
    (tmp_path / "word").write_text(PASSWORD)
    (tmp_path / "word").chmod(0o600)
    login = {"url": url(mysql), "password_file": "word", "tls": {"mode": "preferred"}}
    (tmp_path / "login.yml").write_text(json.dumps({"source": "ours", "server": login}))
    secure = binlake(tmp_path, "init", "--conf", "login.yml")
    assert secure.returncode == 0, secure.stderr
    written = yaml.safe_load((tmp_path / "ours.yml").read_text())["server"]
    assert (written["host"], written["tls"]) == ("127.0.0.1", {"mode": "preferred"})
    assert binlake(tmp_path, "check", "--conf", "ours.yml", "--json").returncode in (0, 3)
    mysql.execute(CLEAN)
