"""The survey finds the same in bronze's excerpts of segments as in the segments' bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from decoder.constants import EventType as T
from decoder.stream import excerpt
from pipeline.bronze.tables import SEGMENTS, segments_table
from pipeline.lake import Lake
from pipeline.lake.delta_step import Step
from pipeline.lake.tables.native import NativeTables
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver.decode.segment_refs import SegmentRef, between
from pipeline.silver.decode.segment_tasks import results
from pipeline.silver.plan.survey import find
from tests.support.bronze.excerpted import ONE_SEGMENT, in_bytes, in_excerpt, require_same, segments
from tests.support.decoder.encrypted_log import PLAIN
from tests.support.decoder.event_bytes import DATA, event_bytes, format_description, log_bytes
from tests.support.decoder.log_kinds import LOG_KINDS
from tests.support.decoder.logs import (
    CUP,
    INT,
    POT,
    VARCHAR,
    Table,
    gtid,
    insert,
    payload,
    query,
    transaction,
    xid,
)
from tests.support.spark.no_spark import NEVER_STARTED

ROOT = Path(__file__).parents[5]
FOREIGN = ROOT.parent / "shared" / "binlogs"
RECORDED = [*DATA.glob("*.binlog"), *(ROOT / "demo" / "binlogs").glob("binlog.0*")]
OTHERS = [file for file in FOREIGN.glob("*") if file.suffix != ".md"]
COMPRESSED = ("compressed.binlog", "mysql-bin.compressed", "transaction_compression.000001")
STANDALONE = 1
TARGETS = (300, 3000, ONE_SEGMENT)
WIDE = Table(CUP.table_id, "cup", (INT, VARCHAR, INT))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "binlog.000001"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name)
def test_recorded_logs(file: Path, target: int) -> None:
    large = file.stat().st_size > 100_000
    found = require_same(file, 50 * target if large else target)
    assert found or file.name in (*COMPRESSED, "binlog.000003")


@pytest.mark.beside
@pytest.mark.skipif(not OTHERS, reason="../shared/binlogs, the logs of other projects, is missing")
@pytest.mark.parametrize("target", TARGETS)
def test_logs_of_other_projects(target: int) -> None:
    found = {file.name: require_same(file, target) for file in OTHERS}
    without = {name for name, excerpts in found.items() if not excerpts}
    assert without <= {*COMPRESSED, "binlog_truncated_event.000001"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", sorted(LOG_KINDS))
def test_logs_of_every_kind(kind: str, target: int, log: Path) -> None:
    log.write_bytes(LOG_KINDS[kind])
    require_same(log, target)


def test_a_decrypted_log(log: Path) -> None:
    log.write_bytes(PLAIN)
    assert require_same(log, 3000)


def test_an_excerpt_has_no_events_beyond_definitions(log: Path) -> None:
    many = [transaction(n, insert(CUP, (n, "a" * 100))) for n in range(1000)]
    log.write_bytes(log_bytes(*many))
    ((row,),) = segments(log, ONE_SEGMENT)
    assert [T(event["event"][4]).name for event in row["excerpt"]] == [
        *("FORMAT_DESCRIPTION", "GTID", "QUERY", "TABLE_MAP", "XID"),
        "GTID",  # of the last transaction
    ]


def test_a_segment_in_parts_has_its_excerpt_in_the_first(log: Path) -> None:
    log.write_bytes(log_bytes(*[transaction(n, insert(CUP, (n, "a"))) for n in range(50)]))
    (rows,) = segments(log, ONE_SEGMENT, part_size=1000)
    assert len(rows) > 3
    assert [row["excerpt"] is not None for row in rows] == [True] + [False] * (len(rows) - 1)
    assert in_excerpt(rows) == in_bytes(rows)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(payload(query("BEGIN") + insert(CUP, (1, "a")) + xid()), id="a payload"),
        pytest.param(query("/*" + "x" * excerpt.LIMIT + "*/ INSERT INTO cup"), id="too large"),
        pytest.param(
            b"".join(Table(n, f"t{n}", (INT,) * 40).map() for n in range(6000)) + xid(),
            id="too many",
        ),
        pytest.param(query("BEGIN") + CUP.map() + gtid(3) + xid(), id="never ended"),
    ],
)
def test_segments_without_an_equivalent_excerpt_are_read(events: bytes, log: Path) -> None:
    log.write_bytes(log_bytes(transaction(1, insert(POT, (1,))), gtid(2), events))
    ((row,),) = segments(log, ONE_SEGMENT)
    assert row["excerpt"] is None


def test_an_event_not_stored_in_bronze_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.bronze.ingest.WINDOW", 500)
    monkeypatch.setattr("decoder.segments.log_windows.LARGE_EVENT", 2000)
    monkeypatch.setattr("decoder.framing.large_event.BEGINNING", 1000)
    comment = query("/*" + "x" * 3000 + "*/ DROP TABLE cup")
    log.write_bytes(log_bytes(gtid(1), comment))
    ((row,),) = segments(log, ONE_SEGMENT)
    assert row["excerpt"] is None


def test_every_statement_that_may_change_tables_is_in_the_excerpt(log: Path) -> None:
    texts = (
        *("create table a (b int)", " ALTER TABLE cup ADD x INT", "\n\tdrop table a"),
        *("/*!80000CREATE TABLE a (b INT) */", "-- x\nRENAME TABLE a TO b", "#\ntruncate b"),
        *("SET STATEMENT sql_mode='' FOR CREATE TABLE c (d INT)", "/* a */ /* b */ drop table c"),
        *("\u3000create table wide_space (a int)", "TRUNCATE\u3000cup"),
    )
    log.write_bytes(log_bytes(*[gtid(n) + query(text) for n, text in enumerate(texts)]))
    (rows,) = segments(log, ONE_SEGMENT)
    found = in_excerpt(rows)
    assert found == in_bytes(rows)
    assert found is not None
    assert len([row for row in found if row["kind"] == "statement"]) == len(texts)


def mariadb_gtid(number: int, flags: int) -> bytes:
    return event_bytes(T.MARIADB_GTID, struct.pack("<QIB", number, 0, flags).ljust(19, b"\0"))


def pieces() -> st.SearchStrategy[bytes]:
    """Transactions that begin and end in every way, with any events in them; a few never end."""
    load = event_bytes(T.EXECUTE_LOAD_QUERY, bytes(40) + b"LOAD DATA INFILE 'x' INTO TABLE cup")
    inside = [
        *(CUP.map(), WIDE.map(), POT.map(), CUP.map() + CUP.rows((1, "a"), end=False)),
        *(CUP.rows((1, "a")), WIDE.rows((1, "a", 2)), POT.rows((1,)), query("SAVEPOINT s")),
        *(query("ALTER TABLE cup ADD x INT"), query("/* x */ DROP TABLE pot"), load),
        *(query("INSERT INTO cup VALUES (1)"), event_bytes(T.ROWS_QUERY, b"\x06INSERT")),
        *(format_description(), event_bytes(T.ROTATE, bytes(8) + b"binlog.000002")),
        event_bytes(T.INTVAR, b"\x02" + struct.pack("<Q", 5)),
    ]
    begins = [
        *(b"", gtid(7), query("BEGIN"), gtid(7) + query("BEGIN"), query("XA START 'a'")),
        *(mariadb_gtid(1, 0), mariadb_gtid(2, STANDALONE), mariadb_gtid(1, 0) + query("BEGIN")),
    ]
    ends = [
        *(xid(), query("COMMIT"), query("ROLLBACK"), query("XA END 'a'") + query("XA COMMIT 'a'")),
        *(query("INSERT INTO cup VALUES (1)"), CUP.rows((1, "a")), query("DROP TABLE cup"), b""),
    ]
    events = st.lists(st.sampled_from(inside), max_size=6).map(b"".join)
    return st.tuples(st.sampled_from(begins), events, st.sampled_from(ends)).map(b"".join)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(pieces(), min_size=1, max_size=12), target=st.sampled_from([150, 400, 4000]))
def test_logs_of_any_events(events: list[bytes], target: int, log: Path) -> None:
    log.write_bytes(log_bytes(*events))
    require_same(log, target)


def test_only_segments_without_an_excerpt_or_with_seen_transactions_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(str(tmp_path / "lake"))
    file = ROOT / "demo" / "binlogs" / "binlog.000003"
    of_segments = list(segments(file, 20_000))
    batch = pa.Table.from_pylist([row for rows in of_segments for row in rows], SEGMENTS)
    NativeTables(lake).append(segments_table(lake), batch, Step("bronze", 1))
    refs = between(NEVER_STARTED, lake, "shop", (0, 0), (9, 0))
    seen = {refs[1].place: ""}
    read: list[SegmentRef] = []

    def noted(run: LayerRun, name: str, refs: Any, *more: Any, **options: Any) -> Iterator[Any]:
        read.extend(refs)
        yield from results(run, name, refs, *more, **options)

    monkeypatch.setattr("pipeline.silver.plan.survey.results", noted)
    of_source = Settings(source="shop", lake=lake.root, engine="local")
    looked_up: list[int] = []
    whole = NativeTables.read

    def counted(tables: NativeTables, *given: Any) -> pa.Table:
        rows = whole(tables, *given)
        looked_up.append(len(rows))
        return rows

    monkeypatch.setattr(NativeTables, "read", counted)
    monkeypatch.setattr("pipeline.silver.plan.survey._AT_ONCE", 3)
    found = find(LayerRun.begin(NEVER_STARTED, of_source, QuietProgress()), refs, seen)
    expected = [row for rows in of_segments for row in in_bytes(rows)]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    without = [rows[0]["start_pos"] for rows in of_segments if rows[0]["excerpt"] is None]
    assert [ref.start_pos for ref in read] == sorted([refs[1].start_pos, *without])
    assert 1 < len(read) < len(refs)
    assert max(looked_up) <= 3 * max(map(len, of_segments)), "more is in memory than is asked for"
