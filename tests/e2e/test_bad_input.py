"""Files that are not whole binary logs: a clear line for each, and everything else done."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.run import exit_code
from tests.e2e.conftest import Run
from tests.support import traffic
from tests.support.compare import assert_gold_equals_source
from tests.support.mysql import MySQLServer


def flip(file: Path, position: int) -> None:
    content = bytearray(file.read_bytes())
    content[position] ^= 0x10
    file.write_bytes(content)


DAMAGE = {
    "one bit of a header": lambda file: flip(file, file.stat().st_size // 2),
    "one bit of the last checksum": lambda file: flip(file, file.stat().st_size - 2),
    "truncated inside an event": lambda file: file.write_bytes(file.read_bytes()[:-5_000]),
    "empty": lambda file: file.write_bytes(b""),
    "not a binlog": lambda file: file.write_bytes(b"PK\x03\x04" + bytes(500)),
    "encrypted": lambda file: file.write_bytes(b"\xfdbin" + bytes(508)),
}


@pytest.fixture(scope="module")
def logs(mysql: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole file, then as many as there are kinds of damage, closed, of a small workload."""
    mysql.execute(f"DROP DATABASE IF EXISTS {traffic.SCHEMA}")
    mysql.reset_logs()
    with mysql.connect() as connection:
        for part in range(1 + len(DAMAGE)):
            traffic.run(connection, 40, seed=part, create=part == 0)
            mysql.flush_logs()
    folder = tmp_path_factory.mktemp("logs")
    for file in mysql.binlogs()[: 1 + len(DAMAGE)]:
        shutil.copy(file, folder)
    return folder


def test_damaged_files_are_named_and_held_at_and_taken_once_they_are_whole(
    spark: SparkSession, mysql: MySQLServer, logs: Path, run: Run, tmp_path: Path
) -> None:
    """One file after the other is damaged, each in another way, while the one before is mended."""
    folder, lake = tmp_path / "logs", tmp_path / "lake"
    shutil.copytree(logs, folder)
    files = sorted(folder.iterdir())
    content = [file.read_bytes() for file in files]
    for damage, damaged in zip(DAMAGE.values(), files[1:], strict=True):
        damage(damaged)
    for number, (name, damaged) in enumerate(zip(DAMAGE, files[1:], strict=True), 1):
        reports = run(folder, lake)
        told = [line for report in reports for line in (*report.faults, *report.gaps)]
        assert any(damaged.name in line for line in told), (name, told)
        assert exit_code(reports) == 3
        assert reports[1].counts.get("segments", 0) > 0, f"nothing before {name} was done"
        damaged.write_bytes(content[number])
    reports = run(folder, lake)
    assert all(report.clean for report in reports), reports
    for table in ("account", "line", "word", "digest"):
        assert_gold_equals_source(spark, mysql, str(lake), traffic.SCHEMA, table)
