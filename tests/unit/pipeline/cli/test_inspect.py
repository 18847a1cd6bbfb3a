from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from decoder.constants import EventType
from pipeline.cli.app import app
from pipeline.cli.inspect import inspect_files
from pipeline.cli.inspect_events import EVENT_COLUMNS
from pipeline.cli.inspect_rows import ROW_COLUMNS, to_json
from pipeline.cli.options import Output
from tests.support.decoder import encrypted_log
from tests.support.decoder.archives import pack
from tests.support.decoder.event_bytes import (
    DATA,
    MARIADB_POST_HEADER_LENGTHS,
    event_bytes,
    format_description,
    log_bytes,
    recorded,
)
from tests.support.decoder.old_logs import LOAD_HEAD, LOAD_NAMES, NEW_OPTIONS, V3, query

PLAIN = DATA / "plain.binlog"


def lines(capsys: pytest.CaptureFixture[str], *files: Path, rows: bool = False) -> list[Any]:
    assert inspect_files(list(files), rows=rows, json=True) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_has_an_object_per_line_with_all_fields_of_an_event(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = lines(capsys, PLAIN)
    assert len(shown) == 20
    head = shown[0]
    assert (head["file"], head["position"], head["type"]) == (str(PLAIN), 4, "FORMAT_DESCRIPTION")
    assert head["checksum_algorithm"] == "CRC32"
    assert shown[1]["gtid_set"] == ""
    table_map = next(event for event in shown if event["type"] == "TABLE_MAP")
    assert [c["name"] for c in table_map["definition"]["columns"]] == ["id", "name", "price"]
    rows = next(event for event in shown if event["type"] == "WRITE_ROWS")
    assert rows["rows_flags"] == ["STATEMENT_END", "SQL_FOREIGN_KEYS"]
    assert rows["columns_after"] == "ff"


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_a_compressed_file_is_printed_as_the_log_inside(
    codec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(pack(codec, PLAIN.read_bytes()))
    for rows in (False, True):
        expected = [{**line, "file": str(packed)} for line in lines(capsys, PLAIN, rows=rows)]
        assert lines(capsys, packed, rows=rows) == expected
    packed.write_bytes(packed.read_bytes()[:-20])
    assert inspect_files([packed]) == 1
    assert "it is truncated" in capsys.readouterr().err


def test_a_table_has_a_line_per_event(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect_files([DATA / "compressed.binlog"]) == 0
    shown = capsys.readouterr().out
    assert "compressed.binlog" in shown
    assert "shop: CREATE TABLE item" in shown
    assert "shop.item (id, name, price)" in shown
    assert "ZSTD" in shown
    assert "478+0 " in shown


@pytest.mark.parametrize("rows", [False, True])
def test_a_pipe_gets_lines_of_any_length_without_trailing_spaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: bool
) -> None:
    long = tmp_path / "log.001"
    long.write_bytes(V3.log(query(f"DROP TABLE {'pots, ' * 20}pans")))
    assert inspect_files([PLAIN, long], rows=rows) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line != line.rstrip()] == []
    title, _, heading, *rest = printed
    assert (title, len(heading) < 80) == (str(PLAIN), True)
    details = heading.index((ROW_COLUMNS if rows else EVENT_COLUMNS)[-1])
    if rows:  # the row after an update is on a line of its own
        assert {line.index("→") for line in rest if "→" in line} == {details}
    else:
        assert rest[-1].endswith("pots, pans")


@pytest.mark.parametrize("rows", [False, True])
def test_on_a_narrow_terminal_details_are_a_line_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rows: bool
) -> None:
    for name, value in {"TTY_COMPATIBLE": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    assert inspect_files([PLAIN], rows=rows) == 0
    title, _, heading, first, details, *_ = capsys.readouterr().out.splitlines()
    assert title == str(PLAIN)
    columns = ROW_COLUMNS if rows else EVENT_COLUMNS
    assert heading.split() == list(columns[:-1])
    assert len(first) <= 80
    assert details.startswith("    {" if rows else "    9.")


@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.binlog")))
@pytest.mark.parametrize("as_json", [False, True])
def test_every_kind_of_event_can_be_printed(
    name: str, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspect_files([DATA / f"{name}.binlog"], json=as_json) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 10


def test_rows_prints_decoded_images(capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines(capsys, PLAIN, rows=True)
    assert [(row["op"], row["row"], row["before"], row["after"]) for row in shown] == [
        ("insert", 0, None, {"id": 1, "name": "cup", "price": "3.50"}),
        ("insert", 1, None, {"id": 2, "name": "pot", "price": "12.00"}),
        ("insert", 2, None, {"id": 3, "name": "pan", "price": "25.90"}),
        (
            "update",
            0,
            {"id": 1, "name": "cup", "price": "3.50"},
            {"id": 1, "name": "cup", "price": "4.50"},
        ),
        (
            "update",
            1,
            {"id": 2, "name": "pot", "price": "12.00"},
            {"id": 2, "name": "pot", "price": "13.00"},
        ),
        ("delete", 0, {"id": 2, "name": "pot", "price": "13.00"}, None),
    ]
    events = {event["position"]: event["type"] for event in lines(capsys, PLAIN)}
    assert [events[row["position"]] for row in shown] == (
        ["WRITE_ROWS"] * 3 + ["UPDATE_ROWS"] * 2 + ["DELETE_ROWS"]
    )
    assert {(row["schema"], row["table"]) for row in shown} == {("shop", "item")}


def test_rows_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect_files([PLAIN], rows=True) == 0
    shown = capsys.readouterr().out
    assert "shop.item" in shown
    assert '→ {"id": 1, "name": "cup", "price": "4.50"}' in shown


def test_a_damaged_file_is_printed_up_to_the_fault_and_then_the_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.binlog"
    cut.write_bytes(recorded("plain")[:-1])
    assert inspect_files([cut, PLAIN], json=True) == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 19 + 20
    assert f"{cut}, position" in err
    assert "STOP" in err


def test_a_log_is_checked_without_printing_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.binlog"
    cut.write_bytes(recorded("plain")[:-1])
    assert inspect_files([PLAIN], output=Output(quiet=True)) == 0
    assert capsys.readouterr() == ("", "")
    assert inspect_files([cut, PLAIN], output=Output(quiet=True)) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the log is empty"),
        (b"id,name\n1,cup\n", "not with the magic number"),
        (b"\xfdbin" + bytes(100), "ends inside its encryption header"),
        (b"\xfebin" + format_description("1.0.0"), "more than version 1.0.0 has"),
    ],
)
def test_a_file_that_is_not_a_log_is_one_sentence(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert inspect_files([file]) == 1
    assert message in capsys.readouterr().err


def test_without_its_key_an_encrypted_log_is_printed_as_its_header_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = encrypted_log.FOLDER / "binlog.000001"
    header = encrypted_log.HEADER
    assert inspect_files([file], json=True) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "file": str(file),
        "position": None,
        "type": "ENCRYPTION_HEADER",
        "size": 512,
        "version": 1,
        "key_id": header.key_id,
        "encrypted_password": header.encrypted_password.hex(),
        "iv": header.iv.hex(),
    }
    assert err.startswith(
        f"binlake: {file}, position 0: the file is encrypted with the key {header.key_id}"
    )
    assert err.count("\n") == 1
    assert "encryption.keyring" in err
    assert inspect_files([file]) == 1
    shown = capsys.readouterr().out
    assert "ENCRYPTION_HEADER" in shown
    assert header.key_id in shown


@pytest.mark.parametrize("rows", [False, True])
def test_with_its_key_an_encrypted_log_is_printed_like_a_plain_one(
    rows: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = encrypted_log.FOLDER / "binlog.000001"
    assert inspect_files([file], rows=rows, json=True, keys=encrypted_log.KEYS) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    plain = lines(capsys, encrypted_log.FOLDER / "plain", rows=rows)
    after_header = shown if rows else shown[1:]
    assert [{**line, "file": ""} for line in after_header] == [
        {**line, "file": "", **({"lsn": line["lsn"] | 1 << 40} if rows else {})} for line in plain
    ]


@pytest.mark.parametrize("given", ["--keyring", "--conf"])
def test_the_keyring_comes_from_the_command_line_or_the_settings(
    given: str, tmp_path: Path
) -> None:
    keyring = encrypted_log.FOLDER / "keyring"
    conf = tmp_path / "conf.yml"
    conf.write_text(f"encryption: {{keyring: {keyring}}}")
    file = encrypted_log.FOLDER / "binlog.000001"
    option = str({"--keyring": keyring, "--conf": conf}[given])
    shown = CliRunner().invoke(app, ["inspect", str(file), given, option])
    assert shown.exit_code == 0, shown.output
    assert "shop.item (id, name, price)" in shown.output


def test_a_missing_file_is_a_wrong_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspect_files([tmp_path / "none", PLAIN], json=True) == 2
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 20
    assert "No such file" in err


def test_a_closed_pipe_is_no_error() -> None:
    command = [sys.executable, "-m", "pipeline.cli", "inspect", "--json", *[str(PLAIN)] * 300]
    with subprocess.Popen(
        command,
        cwd=DATA.parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_values_that_json_lacks_are_text() -> None:
    assert to_json({"v": [float("inf"), 1.5], "b": b"\xff"}) == '{"v": ["inf", 1.5], "b": "ff"}'


@pytest.mark.parametrize("as_json", [False, True])
def test_events_that_no_tested_server_writes_are_printed(
    tmp_path: Path, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    old, mariadb = tmp_path / "log.001", tmp_path / "mariadb-bin.000001"
    new_load = LOAD_HEAD + NEW_OPTIONS + LOAD_NAMES + b"cups.txt"
    old.write_bytes(V3.log(query("DROP TABLE cups"), (EventType.NEW_LOAD, new_load)))
    gtid = struct.pack("<QIB", 7, 3, 1) + bytes(6)
    mariadb.write_bytes(
        log_bytes(
            event_bytes(EventType.MARIADB_GTID_LIST, struct.pack("<IIIQ", 1, 3, 1, 6)),
            event_bytes(EventType.MARIADB_GTID, gtid),
            event_bytes(EventType.MARIADB_ANNOTATE_ROWS, b"INSERT INTO cups VALUES (1)"),
            description=format_description("10.11.6-MariaDB", 0, MARIADB_POST_HEADER_LENGTHS),
        )
    )
    assert inspect_files([old, mariadb], json=as_json) == 0
    shown = capsys.readouterr().out
    as_text = (
        "4.1.22-log, version 3",
        "shop: DROP TABLE cups",
        "shop.cups (a, name) from cups.txt",
    )
    for text in (
        *(("REPLACE", '"binlog_version": 3', '"domain_id": 3') if as_json else as_text),
        *("3-1-6", "STANDALONE" if as_json else "3-1-7 standalone", "INSERT INTO cups VALUES (1)"),
    ):
        assert text in shown
