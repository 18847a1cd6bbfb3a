"""Dumps in folders: MySQL Shell's and mydumper's."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.seed.dumps import open_dump
from pipeline.seed.errors import DumpError
from tests.support.seed.seed_rows import all_columns, held_columns as columns, rows_of as rows

CREATE = "CREATE TABLE `t` (`id` int PRIMARY KEY, `b` blob, `ts` timestamp NULL);\n"
MANIFEST: dict[str, Any] = {
    "schemas": ["s 1"],
    "basenames": {"s 1": "s%201"},
    "serverVersion": "8.4.0",
    "tzUtc": True,
    "binlogFile": "binlog.000002",
    "binlogPosition": 157,
    "gtidExecuted": "a:1-5,\nb:1",
}
OPTIONS: dict[str, Any] = {
    "columns": ["id", "b", "ts"],
    "decodeColumns": {"b": "FROM_BASE64"},
    "defaultCharacterSet": "utf8mb4",
    "fieldsTerminatedBy": "\t",
    "fieldsEnclosedBy": "",
    "fieldsEscapedBy": "\\",
    "linesTerminatedBy": "\n",
}
LAYOUT: dict[str, Any] = {
    "options": OPTIONS,
    "includesData": True,
    "extension": "tsv",
    "chunking": True,
}


def shell(folder: Path, **changed: Any) -> Path:
    """Write a dump of MySQL Shell; `changed`: files with other content, None to leave one out."""
    files = {
        "@.json": json.dumps(MANIFEST),
        "@.done.json": "{}",
        "s%201.json": json.dumps({"tables": ["t"], "basenames": {"t": "s%201@t"}}),
        "s%201@t.json": json.dumps(LAYOUT),
        "s%201@t.sql": "-- Host: x    Database: s 1    Table: t\n" + CREATE,
        "s%201@t@0.tsv": "1\tAP8=\t\\N\n2\t\\N\t2020-01-01 00:00:00\n",
        "s%201@t@@1.tsv": "3\t\t\\N\n",
        **changed,
    }
    for name, content in files.items():
        if content is not None:
            (folder / name).write_text(content)
    return folder


def test_mysql_shell(tmp_path: Path) -> None:
    dump = open_dump(str(shell(tmp_path)))
    assert dump.place == ("binlog.000002", 157)
    assert (dump.gtids, dump.server) == ("a:1-5,b:1", "8.4.0")
    (table,) = dump.tables
    assert str(table) == "s 1.t"
    table.require_readable(columns(table))
    expected = [[b"1", b"\0\xff", None], [b"2", None, b"2020-01-01 00:00:00"], [b"3", b"", None]]
    assert rows(table) == expected


def test_the_position_in_the_format_of_newer_releases(tmp_path: Path) -> None:
    log = {"file": "binlog.000009", "position": 4, "gtidExecuted": "c:1"}
    about = {**MANIFEST, "source": {"binlog": log, "version": {"number": "9.4.0"}}}
    dump = open_dump(str(shell(tmp_path, **{"@.json": json.dumps(about)})))
    assert (dump.place, dump.gtids, dump.server) == (("binlog.000009", 4), "c:1", "9.4.0")


def test_partitions(tmp_path: Path) -> None:
    layout = {**LAYOUT, "chunking": False, "basenames": {"p0": "s%201@t@p0", "p1": "s%201@t@p1"}}
    files = {"s%201@t.json": json.dumps(layout), "s%201@t@0.tsv": None, "s%201@t@@1.tsv": None}
    files |= {f"s%201@t@p{number}.tsv": f"{number}\t\\N\t\\N\n" for number in range(2)}
    (table,) = open_dump(str(shell(tmp_path, **files))).tables
    assert [row[0] for row in rows(table)] == [b"0", b"1"]


def other(**options: Any) -> str:
    return json.dumps({**LAYOUT, "options": {**OPTIONS, **options}})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"@.done.json": None}, "did not finish"),
    ({"s%201@t@@1.tsv": None}, "chunks of s%201@t are missing"),
    ({"s%201@t@0.tsv": None}, "chunks of s%201@t are missing"),
    ({"s%201@t.json": None}, "the file is missing from the dump"),
    ({"s%201@t.json": "{"}, "it is not valid JSON"),
    ({"s%201@t.sql": "SELECT 1;"}, "has no CREATE TABLE of s 1.t"),
    ({"s%201@t@0.tsv": "1\t\\N\n"}, "the line does not have 3 fields"),
    ({"s%201@t@0.tsv": "1\t\\N\t"}, "within a line of 3 fields"),
    ({"s%201@t@0.tsv": "1\t!\t\\N\n2\tA\t\\N\n"}, "column b, row 2: 'A': it is not valid base64"),
    ({"s%201@t.json": other(decodeColumns={"b": "UNZIP"})}, "UNZIP"),
    ({"s%201@t.json": other(linesTerminatedBy="\r\n")}, "more than one byte"),
    ({"s%201@t.json": other(columns=["id", "b"])}, "lacks the columns ts"),
    ({"s%201@t.json": other(defaultCharacterSet="latin1")}, "latin1"),
    ({"@.json": json.dumps({**MANIFEST, "tzUtc": False})}, "TIMESTAMP"),
]


@pytest.mark.parametrize(("changed", "reason"), WRONG, ids=[reason for _, reason in WRONG])
def test_a_damaged_dump_is_an_error(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    def read_all() -> None:
        (table,) = open_dump(str(shell(tmp_path, **changed))).tables
        table.require_readable(all_columns(table))
        rows(table)

    with pytest.raises(DumpError, match=reason):
        read_all()


OLD = """\
Started dump at: 2026-11-23 07:01:05
SHOW MASTER STATUS:
\tLog: binlog.000001
\tPos: 5004
\tGTID:a:1-5,
b:1

SHOW SLAVE STATUS:
\tHost: other
\tLog: other.000009
\tPos: 9
\tGTID:z:1

Finished dump at: 2026-11-23 07:01:05
"""
NEW = """\
# Started dump at: 2026-11-23 07:01:05
[config]
quote-character = BACKTICK

[source]
# Channel_Name = ''
File = binlog.000001
Position = 5004
Executed_Gtid_Set = "a:1-5,b:1"

[`s`.`t`]
rows = 2
# Finished dump at: 2026-11-23 07:01:05
"""
NEWEST = NEW.replace("File =", "#SOURCE_LOG_FILE =").replace("Position =", "#SOURCE_LOG_POS =")


def mydumper(folder: Path, metadata: str, **changed: bytes) -> Path:
    head = "/*!40101 SET NAMES binary*/;\n/*!40103 SET TIME_ZONE='+00:00' */;\n"
    insert = "INSERT INTO `t` (`id`,`l`) VALUES\n({},{});\n"
    create = "CREATE TABLE `t` (`id` int, `l` varchar(9) charset latin1);\n"
    files = {
        "metadata": metadata.encode(),
        "s-schema-create.sql": b"CREATE DATABASE /*!32312 IF NOT EXISTS*/ `s.x`;\n",
        "s.t-schema.sql.gz": gzip.compress((head + create).encode()),
        "s.t.00001.sql": (head + insert.format(2, "NULL")).encode(),
        "s.t.00000.sql.gz": gzip.compress((head + insert.format(1, '"é"')).encode("latin-1")),
        "s.v-schema.sql": b"CREATE TABLE `v` (`id` int);\n",
        "s.v-schema-view.sql": b"CREATE VIEW `v` AS SELECT 1;\n",
        **changed,
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("metadata", [OLD, NEW, NEWEST], ids=["old", "new", "newest"])
def test_mydumper(tmp_path: Path, metadata: str) -> None:
    dump = open_dump(str(mydumper(tmp_path, metadata)))
    assert dump.place == ("binlog.000001", 5004)
    assert dump.gtids == "a:1-5,b:1"
    (table,) = dump.tables
    assert str(table) == "s.x.t"
    table.require_readable(columns(table))
    assert rows(table) == [[b"1", "é".encode()], [b"2", None]]


def test_an_unfinished_dump_of_mydumper_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="did not finish"):
        open_dump(str(mydumper(tmp_path, OLD.replace("Finished", "Started"))))


def test_files_for_load_data_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="LOAD DATA"):
        open_dump(str(mydumper(tmp_path, NEW, **{"s.t.00002.dat": b""})))


def test_a_folder_without_a_dump_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="no dump found"):
        open_dump(str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(DumpError, match=r"neither @\.json nor metadata"):
        open_dump(str(tmp_path))


def test_an_unknown_kind_of_store_is_an_error() -> None:
    with pytest.raises(SettingsError):
        open_dump("nowhere://bucket/dump")
