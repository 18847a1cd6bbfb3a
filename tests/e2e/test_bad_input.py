"""Files that are not whole binary logs: a clear line for each, and everything else done."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.conftest import Run
from tests.support import traffic
from tests.support.compare import assert_gold_equals_source
from tests.support.mysql import MySQLServer


@pytest.fixture(scope="module")
def logs(mysql: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three closed files of a small workload."""
    mysql.execute(f"DROP DATABASE IF EXISTS {traffic.SCHEMA}")
    mysql.reset_logs()
    with mysql.connect() as connection:
        for part in range(3):
            traffic.run(connection, 60, seed=part, create=part == 0)
            mysql.flush_logs()
    folder = tmp_path_factory.mktemp("logs")
    for file in mysql.binlogs()[:3]:
        shutil.copy(file, folder)
    return folder


def flip(file: Path, position: int) -> None:
    content = bytearray(file.read_bytes())
    content[position] ^= 0x10
    file.write_bytes(content)


DAMAGE = {
    "one bit of a header": lambda file: flip(file, file.stat().st_size // 2),
    "one bit of the last checksum": lambda file: flip(file, file.stat().st_size - 2),
    "truncated inside an event": lambda file: file.write_bytes(file.read_bytes()[:-10_000]),
    "empty": lambda file: file.write_bytes(b""),
    "not a binlog": lambda file: file.write_bytes(b"PK\x03\x04" + bytes(500)),
    "encrypted": lambda file: file.write_bytes(b"\xfdbin" + bytes(508)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_file_is_named_held_at_and_taken_once_it_is_whole(
    spark: SparkSession,
    mysql: MySQLServer,
    logs: Path,
    run: Run,
    tmp_path: Path,
    damage: Callable[[Path], None],
) -> None:
    folder, lake = tmp_path / "logs", tmp_path / "lake"
    shutil.copytree(logs, folder)
    whole = sorted(folder.iterdir())[1]
    good = whole.read_bytes()
    damage(whole)
    reports = run(folder, lake)
    told = [line for report in reports for line in (*report.faults, *report.gaps)]
    assert any(whole.name in line for line in told), told
    whole.write_bytes(good)
    reports = run(folder, lake)
    assert all(report.clean for report in reports), reports
    for table in ("account", "line", "word", "digest"):
        assert_gold_equals_source(spark, mysql, str(lake), traffic.SCHEMA, table)
