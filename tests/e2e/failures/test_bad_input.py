"""Files that are not complete binary logs: each gets a clear message, and all else is processed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import decoder
from decoder.events.header import EventHeader
from pipeline.bronze import read_files
from pipeline.lake import Lake
from pipeline.run.commands import exit_code
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLServer

TABLES = ("account", "word")


def flip(file: Path, position: int) -> None:
    content = bytearray(file.read_bytes())
    content[position] ^= 0x10
    file.write_bytes(content)


def middle(file: Path) -> EventHeader:
    """Return the offset of a rows event's header in the middle of the file."""
    headers = [event.header for event in decoder.events(file.read_bytes())]
    with_rows = [header for header in headers if header.name.endswith("_ROWS")]
    return with_rows[len(with_rows) // 2]


def truncate(file: Path, position: int) -> None:
    file.write_bytes(file.read_bytes()[:position])


def end_of(header: EventHeader) -> int:
    return header.position + header.size


DAMAGE = {
    "one bit of a header": lambda file: flip(file, middle(file).position + 5),
    "one bit of a body": lambda file: flip(file, middle(file).position + 30),
    "one bit of a checksum": lambda file: flip(file, end_of(middle(file)) - 1),
    "truncated inside a header": lambda file: truncate(file, middle(file).position + 7),
    "truncated inside a body": lambda file: truncate(file, middle(file).position + 30),
    "truncated between events": lambda file: truncate(file, middle(file).position),
    "without its last event": lambda file: truncate(
        file, file.read_bytes().rindex(b"binlog.") - 27
    ),
    "empty": lambda file: file.write_bytes(b""),
    "not a binlog": lambda file: file.write_bytes(b"PK\x03\x04" + bytes(500)),
    "encrypted": lambda file: file.write_bytes(b"\xfdbin" + bytes(508)),
}


@pytest.fixture(scope="module")
def logs(mysql: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return closed files of a small workload: an intact one before and after each to be
    damaged.
    """
    mysql.execute(f"DROP DATABASE IF EXISTS {traffic.SCHEMA}")
    mysql.reset_logs()
    count = 1 + 2 * len(DAMAGE)
    with mysql.connect() as connection:
        for part in range(count):
            traffic.run(connection, 20, seed=part, create=part == 0)
            mysql.flush_logs()
    folder = tmp_path_factory.mktemp("logs")
    for file in mysql.binlogs()[:count]:
        shutil.copy(file, folder)
    return folder


def test_damaged_files_are_reported_and_ingested_once_repaired(
    spark: SparkSession, mysql: MySQLServer, logs: Path, run: Run, tmp_path: Path
) -> None:
    folder, lake = tmp_path / "logs", tmp_path / "lake"
    shutil.copytree(logs, folder)
    files = sorted(folder.iterdir())
    whole, damaged = files[::2], files[1::2]
    content = [file.read_bytes() for file in damaged]
    for damage, file in zip(DAMAGE.values(), damaged, strict=True):
        damage(file)

    included = [f"{traffic.SCHEMA}.{table}" for table in TABLES]
    reports = run(folder, lake, include=included)
    assert exit_code(reports) == 3
    reported = [line for report in reports for line in (*report.faults, *report.gaps)]
    for name, file in zip(DAMAGE, damaged, strict=True):
        assert any(file.name in line for line in reported), (name, reported)
    rows = {row.file: row for row in read_files(spark, Lake(str(lake)), "e2e")}
    assert [rows[file.name].state for file in whole] == ["complete"] * len(whole)
    assert not [file.name for file in damaged if file.name in rows and rows[file.name].complete]
    assert reports[2].counts, "what stands before the first damage is in gold"

    for file, good in zip(damaged, content, strict=True):
        file.write_bytes(good)
    reports = run(folder, lake, include=included)
    assert all(report.clean for report in reports), reports
    for table in TABLES:
        assert_gold_equals_source(spark, mysql, str(lake), traffic.SCHEMA, table)
