"""Reading of files that are damaged, missing, compressed, encrypted or still being written."""

from __future__ import annotations

import gzip
import re
import struct
import uuid
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

from decoder import BinlogError
from decoder.constants import EventType as T
from pipeline.errors import SettingsError
from pyspark_binlog import DefaultSource
from tests.support.bronze.bronze_input import FILES, IN_USE
from tests.support.decoder.event_bytes import DATA, event_bytes, log_bytes, table_map
from tests.support.decoder.logs import CUP, POT, gtid, insert, query, transaction
from tests.support.spark.binlog_rows import rows_of

TABLE = "shop.orders"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with copies of the demo's files."""
    for file in FILES:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def damage(folder: Path) -> None:
    log = bytearray(FILES[1].read_bytes())
    log[len(log) // 2] ^= 0xFF
    (folder / FILES[1].name).write_bytes(log)


def truncate(folder: Path, number: int) -> None:
    (folder / FILES[number].name).write_bytes(FILES[number].read_bytes()[:-40_000])


def add_another_log(folder: Path) -> None:
    (folder / "other.000001").write_bytes(FILES[0].read_bytes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damage, r"binlog.000002, position \d+.*Copy the file from the server again"),
        (lambda folder: truncate(folder, 1), r"binlog.000002.*Copy the file from the server again"),
        (lambda folder: truncate(folder, 3), r"binlog.000004.*though the server closed it"),
        (lambda folder: (folder / FILES[1].name).unlink(), r"binlog.000002 is missing before"),
        (add_another_log, r"files of several logs"),
    ],
)
def test_a_log_that_is_not_whole_is_refused(
    folder: Path, change: Callable[[Path], None], message: str
) -> None:
    change(folder)
    with pytest.raises((BinlogError, SettingsError), match=message):
        rows_of(folder, table=TABLE)


def test_an_accepted_gap_is_passed_over(folder: Path, tmp_path: Path) -> None:
    conf = tmp_path / ".conf.yml"
    conf.write_text("given_up: [1]\n")
    expected = [row for row in rows_of(folder, table=TABLE) if row["__lsn"] >> 40 != 2]
    (folder / FILES[1].name).unlink()
    assert rows_of(folder, table=TABLE, conf=str(conf)) == expected


def test_settings_leave_tables_out(folder: Path) -> None:
    conf = folder / ".conf.yml"
    conf.write_text("exclude: [shop.order*]\ntypes: {time: micros}\n")
    assert {(row["__schema"], row["__table"]) for row in rows_of(folder, conf=str(conf))} == {
        ("shop", "customers"),
        ("shop", "payments"),
        ("shop", "products"),
    }


def test_a_file_in_use_is_read_up_to_its_last_whole_transaction(folder: Path) -> None:
    whole = rows_of(folder, table=TABLE)
    log = bytearray(FILES[3].read_bytes()[:-30_000])
    log[IN_USE] |= 1
    (folder / FILES[3].name).write_bytes(log)
    rows = rows_of(folder, table=TABLE)
    assert rows == whole[: len(rows)]
    assert 0 < len(rows) < len(whole)


def test_compressed_files_are_read_like_the_logs_inside(folder: Path) -> None:
    whole = rows_of(folder, table=TABLE, segmentBytes="50000")
    for file in FILES[1:]:
        (folder / file.name).unlink()
        (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1))
    assert rows_of(folder, table=TABLE, segmentBytes="50000") == whole


def test_logs_in_a_store_are_read_like_local_ones() -> None:
    store, folder = fsspec.filesystem("memory"), f"landing-{uuid.uuid4().hex}"
    for file in FILES:
        store.pipe_file(f"/{folder}/{file.name}", file.read_bytes())
    assert rows_of(f"memory://{folder}", table=TABLE) == rows_of(FILES[0].parent, table=TABLE)
    store.rm(f"/{folder}", recursive=True)


def test_encrypted_files_need_the_servers_keyring() -> None:
    file = DATA / "encrypted" / "binlog.000001"
    plain = rows_of(DATA / "encrypted" / "plain")
    assert rows_of(file, keyring=str(DATA / "encrypted" / "keyring")) == [
        {**row, "__file": file.name, "__lsn": row["__lsn"] % (1 << 40) + (1 << 40)} for row in plain
    ]
    with pytest.raises(BinlogError, match=r"encryption.keyring"):
        rows_of(file)


CUP_DDL = "USE shop; CREATE TABLE cup (id INT, name VARCHAR(50)) CHARSET utf8mb4;"
CUP_WITHOUT_METADATA = event_bytes(
    T.TABLE_MAP, table_map((3, 15), struct.pack("<H", 200), names=b"\x04shop\0\x03cup\0")
)


@pytest.mark.parametrize("shown", [CUP.map(), CUP_WITHOUT_METADATA], ids=["MINIMAL", "NO_LOG"])
@pytest.mark.parametrize(
    ("definitions", "row"), [(None, {"c1": 1, "c2": "a"}), (CUP_DDL, {"id": 1, "name": "a"})]
)
def test_definitions_name_the_columns_of_a_log_without_names(
    tmp_path: Path, shown: bytes, definitions: str | None, row: dict[str, object]
) -> None:
    file, options = tmp_path / "binlog.000001", {"table": "shop.cup"}
    rows = transaction(1, shown, CUP.rows((1, "a")))
    file.write_bytes(log_bytes(rows, event_bytes(T.STOP, b"")))
    if definitions is not None:
        (tmp_path / "shop.sql").write_text(definitions)
        options["definitions"] = str(tmp_path / "shop.sql")
    assert [change["after"] for change in rows_of(file, **options)] == [row]


@pytest.mark.parametrize(
    ("table", "reported"), [("shop.cup", True), (None, True), ("shop.pot", False)]
)
def test_a_definition_that_names_no_columns_is_reported_at_each_load(
    tmp_path: Path, table: str | None, reported: bool, caplog: pytest.LogCaptureFixture
) -> None:
    file, definitions = tmp_path / "binlog.000001", tmp_path / "shop.sql"
    pot = transaction(1, POT.map(), insert(POT, (1,)))
    cup = transaction(2, CUP_WITHOUT_METADATA, CUP.rows((1, "a")))
    file.write_bytes(log_bytes(pot, cup, event_bytes(T.STOP, b"")))
    definitions.write_text(CUP_DDL.replace(" CHARSET utf8mb4", ""))
    options = {"definitions": str(definitions), **({} if table is None else {"table": table})}
    for _ in range(2):
        caplog.clear()
        rows_of(file, **options)
        found = [record.getMessage() for record in caplog.records]
        assert bool(found) == reported
        reason = r"shop.cup has columns c1, c2, …: column 2 \(name\) is text, .*default_charset"
        assert all(re.match(reason, message) for message in found)


@pytest.mark.parametrize(
    ("statement", "table", "message"),
    [
        ("UPDATE pot SET id = 1", "shop.pot", "a change is logged as a statement"),
        ("UPDATE cup SET id = 1", "shop.pot", None),
        ("UPDATE cup SET id = 1", None, "a change is logged as a statement"),
        ("CALL brew()", "shop.pot", "a change is logged as a statement"),
    ],
)
def test_a_change_that_is_logged_as_a_statement_is_an_error_of_its_table(
    tmp_path: Path, statement: str, table: str | None, message: str | None
) -> None:
    file = tmp_path / "binlog.000001"
    events = [transaction(1, POT.map(), insert(POT, (1,))), transaction(2, query(statement))]
    file.write_bytes(log_bytes(*events, event_bytes(T.STOP, b"")))
    options = {} if table is None else {"table": table}
    if message is None:
        assert len(rows_of(file, **options)) == 1
    else:
        with pytest.raises(BinlogError, match=message):
            rows_of(file, **options)


def test_a_statement_is_an_error_of_what_its_triggers_change(tmp_path: Path) -> None:
    trigger = "CREATE TRIGGER pours AFTER UPDATE ON cup FOR EACH ROW UPDATE pot SET id = 1"
    rows = transaction(1, insert(CUP, (1, "a")), insert(POT, (1,)))
    events = [rows, query(trigger), transaction(2, query("UPDATE cup SET id = 2"))]
    file = tmp_path / "binlog.000001"
    file.write_bytes(log_bytes(*events, event_bytes(T.STOP, b"")))
    with pytest.raises(BinlogError, match="a change is logged as a statement"):
        rows_of(file, table="shop.pot")


@pytest.mark.parametrize("segment_bytes", [None, "50000"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_was_replaced_since_it_was_loaded_is_an_error(
    *, packed: bool, segment_bytes: str | None, tmp_path: Path
) -> None:
    """By one that is longer, so that all positions are still there."""
    pack = gzip.compress if packed else bytes
    file = tmp_path / ("binlog.000002.gz" if packed else "binlog.000002")
    log = FILES[1].read_bytes()
    file.write_bytes(pack(log))
    segments = {} if segment_bytes is None else {"segmentBytes": segment_bytes}
    source = DefaultSource({"path": str(tmp_path), "table": TABLE, **segments})
    reader = source.reader(source.schema())
    ranges = reader.partitions()
    assert (len(ranges) > 1) is (segment_bytes is not None)
    file.write_bytes(pack(FILES[2].read_bytes() + bytes(len(log))))
    for one in ranges:
        with pytest.raises(BinlogError, match=r"binlog.000002.*was replaced. Load it again"):
            list(reader.read(one))


def test_a_file_that_has_grown_since_it_was_loaded_is_read_as_it_was(folder: Path) -> None:
    whole, last = FILES[3].read_bytes(), folder / FILES[3].name
    short = bytearray(whole[:-30_000])
    short[IN_USE] |= 1
    last.write_bytes(short)
    source = DefaultSource({"path": str(folder), "table": TABLE, "segmentBytes": "20000"})
    reader = source.reader(source.schema())
    before = [list(reader.read(one)) for one in reader.partitions()]
    last.write_bytes(whole)  # the server has closed it: its flag is gone
    assert [list(reader.read(one)) for one in reader.partitions()] == before


@pytest.mark.parametrize("segment_bytes", ["1", "100", "1000"])
def test_a_transaction_that_never_ended_has_no_rows(tmp_path: Path, segment_bytes: str) -> None:
    file = tmp_path / "binlog.000001"
    torn = [gtid(1), query("BEGIN"), insert(POT, (1,))]
    again = transaction(1, insert(POT, (1,)), insert(POT, (2,)))
    other = [transaction(number, insert(POT, (number,))) for number in (3, 4)]
    file.write_bytes(log_bytes(*other, *torn, again, *torn, *other, event_bytes(T.STOP, b"")))
    rows = rows_of(file, table="shop.pot", segmentBytes=segment_bytes)
    assert [next(iter(row["after"].values())) for row in rows] == [3, 4, 1, 2, 3, 4]


def test_a_file_that_became_shorter_since_it_was_loaded_is_an_error(folder: Path) -> None:
    source = DefaultSource({"path": str(folder), "table": TABLE})
    reader = source.reader(source.schema())
    first = reader.partitions()[0]
    log = FILES[0].read_bytes()
    for size in (0, len(log) // 2, len(log) - 1):
        (folder / FILES[0].name).write_bytes(log[:size])
        with pytest.raises(BinlogError, match=rf"binlog.000001, position {size}: .*Load it again"):
            list(reader.read(first))
