"""Planning of a batch: which files are read, and their rows after it."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pyarrow as pa

from decoder.framing.large_event import Checkpoint
from decoder.segments.segment_bounds import SegmentBounds
from pipeline.bronze.batch_plan import BronzePlan, FilePlan, plan_file, tasks
from pipeline.bronze.order import Placed
from pipeline.bronze.scan import Successor
from pipeline.bronze.tables import FILES
from pipeline.settings.settings import SegmentSettings
from tests.unit.pipeline.bronze.conftest import MakeBinlog, MakeRow, MakeScan

SEGMENTS = SegmentSettings()
CUT = SegmentBounds(Checkpoint(400, 3), Checkpoint(1000, 7), 300, b"\0\1preamble")


def read(*placed: Placed) -> list[str]:
    succeeded = {file.ordinal - 1 for file in placed}
    return [task.file for _, task in tasks(placed, SEGMENTS, succeeded=succeeded)[0]]


def test_only_what_may_have_changed_is_read(binlog: MakeBinlog, row: MakeRow) -> None:
    same, grown = binlog("log.000001"), binlog("log.000001", size=1500)
    complete = row("log.000001", 1)
    still_open = row("log.000001", 1, state="open", complete=False)
    faulty = row("log.000001", 1, state="faulty", complete=False, fault="bad")
    following = Placed(binlog("log.000002"), 2, row("log.000002", 2))
    assert read(Placed(same, 1, None)) == ["log.000001"]
    assert read(Placed(same, 1, complete)) == []
    assert read(Placed(grown, 1, complete)) == ["log.000001"]
    assert read(Placed(same, 1, still_open)) == []
    assert read(Placed(same, 1, still_open), following) == ["log.000001"]
    assert read(Placed(same, 1, faulty), following) == []
    assert read(Placed(grown, 1, faulty)) == ["log.000001"]
    # an older copy, in another folder
    older = {"size": 400, "incarnation": "a"}
    assert read(Placed(binlog("log.000001", **older), 1, complete)) == ["log.000001"]
    assert read(Placed(binlog("log.000001", **older, folder="/old"), 1, complete)) == []


def test_reading_continues_after_the_stored_bytes(binlog: MakeBinlog, row: MakeRow) -> None:
    ((_, task),), more = tasks(
        [Placed(binlog("log.000001", size=1500), 1, row("log.000001", 1))], SEGMENTS, succeeded=()
    )
    assert (task.stored, task.size, more) == (Checkpoint(1000, 7), 1500, False)


def test_a_new_file_gets_a_row_and_a_known_one_is_updated(
    binlog: MakeBinlog, row: MakeRow, scanned: MakeScan
) -> None:
    new = plan_file(
        "shop", Placed(binlog("log.000003"), 3, None), scanned(segments=(CUT,)), None, batch=4
    )
    assert new is not None
    assert (new.row.state, new.row.ordinal, new.row.sha256) == ("complete", 3, "s")
    assert (new.row.ingested_upto, new.row.crc32, new.row.batch) == (1000, 7, 4)
    before = row("log.000003", 3, state="open", complete=False, in_use=True, ingested_upto=400)
    more = plan_file(
        "shop", Placed(binlog("log.000003"), 3, before), scanned(segments=(CUT,)), None, batch=5
    )
    assert more is not None
    assert more.clear_in_use
    assert (more.row.state, more.row.in_use) == ("complete", False)


def test_without_new_bytes_there_is_no_plan(
    binlog: MakeBinlog, row: MakeRow, scanned: MakeScan
) -> None:
    still_open = {"ended": False, "in_use": True, "growing": True}
    before = row("log.000001", 1, state="open", complete=False, sha256=None, in_use=True)
    grown = Placed(binlog("log.000001", size=1300), 1, before)
    assert (
        plan_file("shop", grown, scanned(**still_open, end=Checkpoint(1300, 9)), None, batch=2)
        is None
    )
    same = Placed(binlog("log.000001"), 1, row("log.000001", 1))
    assert plan_file("shop", same, scanned(), None, batch=2) is None


def test_a_file_that_shrank_or_changed_is_faulty_and_keeps_its_stored_bytes(
    binlog: MakeBinlog, row: MakeRow, scanned: MakeScan
) -> None:
    known = row("log.000001", 1)
    shorter = Placed(binlog("log.000001", size=900), 1, known)
    shrunk = plan_file("shop", shorter, scanned(), None, batch=2)
    assert shrunk is not None
    assert "has become shorter" in (shrunk.row.fault or "")
    other = scanned(fault="log.000001, position 1000: other bytes", changed=True)
    changed = plan_file(
        "shop", Placed(binlog("log.000001", size=1100), 1, known), other, None, batch=2
    )
    assert changed is not None
    for plan in (shrunk, changed):
        assert (plan.segments, plan.row.state, plan.row.ingested_upto) == ((), "faulty", 1000)
    again = Placed(binlog("log.000001", size=900), 1, shrunk.row)
    assert plan_file("shop", again, scanned(), None, batch=3) is None


def test_the_tail_after_a_crash_is_kept_as_a_cut_of_its_own(
    binlog: MakeBinlog, scanned: MakeScan
) -> None:
    crashed = scanned(segments=(CUT,), end=Checkpoint(1200, 9), ended=True, incomplete="inside")
    plan = plan_file("shop", Placed(binlog("log.000001"), 1, None), crashed, None, batch=1)
    assert plan is not None
    assert plan.tail
    assert plan.segments[1] == SegmentBounds(Checkpoint(1000, 7), Checkpoint(1200, 9), None, b"")
    assert plan.row.ingested_upto == 1200


def test_an_archive_that_is_uploaded_again_is_read_once(
    binlog: MakeBinlog, row: MakeRow, scanned: MakeScan
) -> None:
    before = row("log.000001", 1, state="open", complete=False, sha256=None, modified="t-1")
    file = Placed(replace(binlog("log.000001"), codec="gzip"), 1, before)
    assert read(file) == ["log.000001"]
    plan = plan_file("shop", file, scanned(ended=False), None, batch=2)
    assert plan is not None
    assert (plan.segments, plan.row.state) == ((), "open")
    assert read(replace(file, row=plan.row)) == []


def test_a_damaged_archive_is_not_taken_for_an_older_copy(
    binlog: MakeBinlog, row: MakeRow, scanned: MakeScan
) -> None:
    known = row("log.000001", 1)
    archive = replace(binlog("log.000001", folder="/archive"), codec="gzip")
    found = scanned(ended=False, boundary=Checkpoint(400, 3), end=Checkpoint(450, 3))
    assert plan_file("shop", Placed(archive, 1, known), found, None, batch=2) is None
    damaged = replace(found, fault="log.000001.gz, position 450: it was cut short")
    plan = plan_file("shop", Placed(archive, 1, known), damaged, None, batch=2)
    assert plan is not None
    assert (plan.row.state, plan.row.ingested_upto) == ("faulty", 1000)
    assert "log.000001.gz, position 450: it was cut short" in (plan.row.fault or "")


def test_a_file_whose_flag_the_server_cleared_is_one_that_it_recovered(
    binlog: MakeBinlog, row: MakeRow, scanned: MakeScan
) -> None:
    """Without GTIDs, and only at the path where the flag was set."""
    successor = Successor("log.000002", restarted=True, previous_gtids="")
    for before, folder, state in (
        ({"in_use": True}, "/logs", "complete"),
        ({"in_use": True}, "/raw", "faulty"),
        ({"in_use": False}, "/logs", "faulty"),
    ):
        known = row("log.000001", 1, state="open", complete=False, sha256=None, **before)
        placed = Placed(binlog("log.000001", folder=folder), 1, known)
        found = scanned(ended=False, gtids="")
        plan = plan_file("shop", placed, found, successor, batch=2)
        assert plan is not None
        assert plan.row.state == state


def test_a_plan_survives_serialization(row: MakeRow) -> None:
    plan = FilePlan(row("log.000001", 1, previous_gtids="u:1-4"), (CUT,), True, True)
    batch = BronzePlan([plan], part_size=16, limit=64)
    assert BronzePlan.from_body(json.loads(json.dumps(batch.to_body()))) == batch


def test_a_scan_survives_pickling(scanned: MakeScan) -> None:
    scan = scanned(segments=(CUT,), fault="why")
    assert pickle.loads(pickle.dumps(scan)) == scan


def test_a_file_that_vanished_during_ingestion_is_faulty_from_the_reached_position(
    row: MakeRow,
) -> None:
    plan = FilePlan(row("log.000001", 1), (CUT,), False, False)
    assert plan.row_after(1000) == plan.row
    left = plan.row_after(400)
    assert (left.state, left.ingested_upto, left.crc32) == ("faulty", 400, 3)
    assert "changed or vanished" in (left.fault or "")
    assert left.modified != plan.row.modified


def test_the_table_of_files_has_the_columns_of_existing_lakes() -> None:
    texts = ("source", "file", "incarnation", "path", "modified", "state", "fault", "sha256")
    texts += ("server_version", "checksum", "previous_gtids", "gtids")
    flags = ("complete", "in_use", "restarted")
    types = {name: pa.string() for name in texts} | {name: pa.bool_() for name in flags}
    assert FILES.names == [
        *("source", "file", "incarnation", "ordinal", "path", "size", "modified", "state"),
        *("complete", "fault", "ingested_upto", "crc32", "sha256", "in_use", "server_version"),
        *("server_id", "checksum", "previous_gtids", "gtids", "begun", "restarted", "batch"),
    ]
    assert [one.type for one in FILES] == [types.get(name, pa.int64()) for name in FILES.names]
    assert all(one.nullable for one in FILES)
