"""The set-up of `make airflow` before it becomes Airflow."""

from __future__ import annotations

import stat
from pathlib import Path

from demo.in_airflow import PASSWORDS, settings, write_password, write_source
from pipeline.settings import Settings


def test_the_recorded_shop_is_its_source(tmp_path: Path) -> None:
    write_source(tmp_path)
    made = Settings.load(tmp_path / "sources" / "shop.yml")
    assert made.source == "shop"
    assert list(Path(made.binlogs).glob("binlog.*"))
    assert Path(made.lake).parent == tmp_path


def test_the_password_stays_and_is_nobody_elses(tmp_path: Path) -> None:
    password = write_password(tmp_path)
    assert len(password) >= 12
    assert write_password(tmp_path) == password
    assert stat.S_IMODE((tmp_path / PASSWORDS).stat().st_mode) == 0o600


def test_airflow_listens_on_this_machine_only(tmp_path: Path) -> None:
    made = settings(tmp_path, "9090")
    assert (made["AIRFLOW__API__HOST"], made["AIRFLOW__API__PORT"]) == ("127.0.0.1", "9090")
    assert made["AIRFLOW__API__BASE_URL"].endswith(":9090"), "tasks would not reach it"
    assert (Path(made["AIRFLOW__CORE__DAGS_FOLDER"]) / "binlake_replication.py").is_file()
    assert made["BINLAKE_SOURCES"] == str(tmp_path / "sources")
