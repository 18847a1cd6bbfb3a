"""`make airflow`: a standalone Airflow with Binlake's DAGs, and the recorded shop as their source.

Run: `python -m demo.in_airflow`. Its files are in .cache/airflow; BINLAKE_AIRFLOW_PORT sets another
port than 8080.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent
REPOSITORY = FOLDER.parent
HOME = REPOSITORY / ".cache" / "airflow"
BIN = Path(sys.executable).parent
SOURCE = "shop"
USER = "admin"
PASSWORDS = "simple_auth_manager_passwords.json.generated"
"""The file that Airflow's simple auth manager reads passwords from, and writes new ones to."""


def main() -> None:
    """Set up Airflow, print where to log in, and run it in this process; Ctrl-C ends it."""
    port = os.environ.get("BINLAKE_AIRFLOW_PORT", "8080")
    environment = {**os.environ, **settings(HOME, port)}
    write_source(HOME)
    password = write_password(HOME)
    airflow = str(BIN / "airflow")
    slots = [airflow, "pools", "set", f"binlake_{SOURCE}", "1", "One task of this source at a time"]
    print("Setting up Airflow's database in .cache/airflow, some seconds …", flush=True)
    for command in ([airflow, "db", "migrate"], slots):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    print(
        f"\nAirflow will be at http://localhost:{port}: log in as {USER} with {password}\n"
        f"Then trigger binlake_{SOURCE}_replication; gold will be in {HOME / 'lake' / 'gold'}.\n",
        flush=True,
    )
    os.execve(airflow, [airflow, "standalone"], environment)


def settings(home: Path, port: str) -> dict[str, str]:
    """Return Airflow's environment: its page on this machine only, without its example DAGs."""
    return {
        "AIRFLOW_HOME": str(home),
        # Tasks connect to Airflow there, too.
        "AIRFLOW__API__BASE_URL": f"http://localhost:{port}",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": port,
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "BINLAKE_SOURCES": str(home / "sources"),
        "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)]),
    }


def write_source(home: Path) -> None:
    """Write the settings of the recorded shop, replicated when its DAG is triggered."""
    source = {
        "source": SOURCE,
        "binlogs": str(FOLDER / "binlogs"),
        "lake": str(home / "lake"),
        "airflow": {"schedule": None, "retries": 1},
    }
    folder = home / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{SOURCE}.yml").write_text(yaml.safe_dump(source, sort_keys=False))


def write_password(home: Path) -> str:
    """Return the password of an earlier start, or write a new one."""
    file = home / PASSWORDS
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(json.dumps({USER: secrets.token_urlsafe(12)}))
    password: str = json.loads(file.read_text())[USER]
    return password


if __name__ == "__main__":
    main()
