"""Bronze's job on recorded files: grown, damaged, vanished, killed, run twice at once."""

from __future__ import annotations

import os
import shutil
import threading
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from decoder.constants import EventType
from pipeline.bronze.carry_out import carry_out
from pipeline.bronze.scan import ScanTask, scan_all
from pipeline.errors import MissingRequirementError
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.spark.engine import LocalEngine
from tests.support.bronze.bronze_input import FILES, IN_USE, Bronze
from tests.support.decoder.old_logs import SERVER_ID, V3, OldLog, query
from tests.support.lake.kills import Executioner, Killed, at_commits
from tests.support.spark.no_spark import NEVER_STARTED


@pytest.fixture
def bronze(tmp_path: Path) -> Bronze:
    return Bronze(NEVER_STARTED, tmp_path)


def test_files_are_restored_byte_for_byte_and_ingested_only_once(bronze: Bronze) -> None:
    for file in FILES[:2]:
        bronze.put(file)
    (bronze.input / "binlog.index").write_text("./binlog.000001\n")
    report = bronze.run()
    assert report.clean
    assert report.counts["files"] == 2
    assert report.counts["bytes"] == sum(file.stat().st_size for file in FILES[:2])
    assert "binlog.index is skipped" in report.notes[0]
    assert bronze.holds(*FILES[:2])
    segments = bronze.segments()
    assert report.counts["segments"] == len(segments)

    shutil.copy(FILES[2], bronze.input)
    (bronze.input / FILES[0].name).touch()
    second = bronze.run()
    assert second.counts["segments"] == len(bronze.segments()) - len(segments)
    assert bronze.holds(*FILES[:3])
    assert bronze.run().counts == {}
    assert bronze.restored(FILES[1].name) == FILES[1].read_bytes()
    assert bronze.restored(FILES[1].name) == FILES[1].read_bytes()
    assert [row.state for row in bronze.rows().values()] == ["complete"] * 3


def test_a_run_that_finds_nothing_knows_the_newest_file_and_whether_it_is_stale(
    bronze: Bronze,
) -> None:
    for file, written_at in zip(FILES[:2], (1_700_000_000, 1_600_000_000), strict=True):
        bronze.put(file)
        os.utime(bronze.input / file.name, (written_at, written_at))
    first = bronze.run(stale="1 hour")
    # A run that brings something new is not stale, however old it is.
    assert (first.clean, first.newest and first.newest.name) == (True, FILES[0].name)
    second = bronze.run(stale="1 hour")
    assert second.newest == first.newest
    (fault,) = second.faults
    assert f"{FILES[0].name}, was last written at 2023-11-14 22:13:20 UTC" in fault
    assert bronze.run().clean
    os.utime(bronze.input / FILES[1].name)
    assert bronze.run(stale="1 hour").clean


def test_logs_from_before_mysql_5_are_restored_byte_for_byte(
    bronze: Bronze, tmp_path: Path
) -> None:
    """At the in-use flag's offset they have other bytes; here an odd one, of the version."""
    statements = [query(f"INSERT INTO cups VALUES ({n})") for n in range(900)]
    files = {
        "log.001": OldLog(1, "3.19.5").log(*statements, (EventType.STOP, b"")),
        "log.002": V3.log(*statements, V3.rotate("log.003")),
        "log.003": V3.log(*statements, (EventType.STOP, b""), start=False),
    }
    paths = [tmp_path / name for name in files]
    for path in paths:
        path.write_bytes(files[path.name])
        shutil.copy(path, bronze.input)
    report = bronze.run()
    assert (report.clean, report.counts["files"]) == (True, 3)
    assert len(bronze.segments()) > 3
    assert bronze.holds(*paths)
    rows = bronze.rows()
    assert [rows[name].server_version for name in files] == ["3.19.5", "4.1.22-log", "4.0"]
    assert {(row.state, row.server_id) for row in rows.values()} == {("complete", SERVER_ID)}
    assert bronze.run().counts == {}


def test_a_growing_file_is_ingested_by_whole_transactions_and_ends_like_the_servers(
    bronze: Bronze,
) -> None:
    file = FILES[0]
    for upto in (150, 50_001, 180_000, 300_000):
        bronze.put(file, upto, in_use=True)
        report = bronze.run()
        assert report.clean, report
        row = bronze.rows().get(file.name)
        assert row is None or (row.state, row.in_use) == ("open", True)
    assert row is not None
    assert 0 < row.ingested_upto <= 300_000
    assert bronze.restored(file.name)[:IN_USE] == file.read_bytes()[:IN_USE]
    bronze.put(file)
    bronze.run()
    assert bronze.holds(file)
    assert bronze.rows()[file.name].state == "complete"
    ends = [(start, end) for _, _, start, end, *_ in bronze.segments()]
    assert all(a[1] == b[0] for a, b in pairwise(ends))


def test_a_damaged_file_is_held_until_a_good_copy_arrives(bronze: Bronze) -> None:
    damaged = bytearray(FILES[0].read_bytes())
    damaged[200_000] ^= 4
    (bronze.input / FILES[0].name).write_bytes(damaged)
    bronze.put(FILES[1])
    report = bronze.run()
    assert len(report.faults) == 1
    assert "binlog.000001, position 1" in report.faults[0]
    assert "the checksum does not match" in report.faults[0]
    rows = bronze.rows()
    assert rows[FILES[0].name].state == "faulty"
    assert 100_000 < rows[FILES[0].name].ingested_upto <= 200_000
    assert bronze.holds(FILES[1])
    assert bronze.run().faults == report.faults
    bronze.put(FILES[0])
    assert bronze.run().clean
    assert bronze.holds(*FILES[:2])


def test_a_transaction_truncated_by_a_crash_is_kept_as_incomplete(bronze: Bronze) -> None:
    size = FILES[0].stat().st_size - 100
    bronze.put(FILES[0], size, in_use=True)
    second = FILES[1].read_bytes()
    description = _event_at(second, 4)
    gtids = _event_at(second, 4 + len(description))
    rest = second[4 + len(description) + len(gtids) :]
    (bronze.input / FILES[1].name).write_bytes(
        b"".join([second[:4], _started_with(description), _without_the_last(gtids), rest])
    )
    assert bronze.run().clean
    kept = bytearray(FILES[0].read_bytes()[:size])
    kept[IN_USE] |= 1
    assert bronze.restored(FILES[0].name) == kept
    rows = bronze.stored("file", "end_pos", "transactions", "incomplete")
    (tail,) = [row for row in rows if row["incomplete"]]
    assert (tail["file"], tail["end_pos"], tail["transactions"]) == (FILES[0].name, size, 0)


def _event_at(log: bytes, position: int) -> bytes:
    return log[position : position + int.from_bytes(log[position + 9 : position + 13], "little")]


def _started_with(description: bytes) -> bytes:
    """A FORMAT_DESCRIPTION with the server's start time, as after a restart."""
    changed = bytearray(description[:-4])
    changed[71:75] = (1_700_000_000).to_bytes(4, "little")
    return bytes(changed) + zlib.crc32(changed).to_bytes(4, "little")


def _without_the_last(gtids: bytes) -> bytes:
    """A PREVIOUS_GTIDS of one interval, with its end (the last 8 bytes) decreased by one."""
    end = int.from_bytes(gtids[-12:-4], "little") - 1
    changed = gtids[:-12] + end.to_bytes(8, "little")
    return changed + zlib.crc32(changed).to_bytes(4, "little")


def test_an_incomplete_copy_is_not_taken_for_a_crash(bronze: Bronze) -> None:
    """The server was restarted after this file; its copy ends after a whole transaction."""
    bronze.put(FILES[0])
    bronze.run()
    last = bronze.segments()[-1][2]
    shutil.rmtree(bronze.lake.root)
    bronze.put(FILES[0], last)
    second = FILES[1].read_bytes()
    description = _event_at(second, 4)
    content = second[:4] + _started_with(description) + second[4 + len(description) :]
    (bronze.input / FILES[1].name).write_bytes(content)
    (fault,) = bronze.run().faults
    assert f"{FILES[0].name} lacks " in fault
    assert f"-341, which {FILES[1].name} has in its" in fault


def test_an_event_above_the_limit_is_stored_in_parts(bronze: Bronze) -> None:
    segments = {"target": 700, "limit": 700}
    bronze.settings = bronze.settings.model_copy(
        update={"segments": type(bronze.settings.segments).model_validate(segments)}
    )
    (bronze.input / FILES[2].name).write_bytes(FILES[2].read_bytes())
    assert bronze.run().clean
    assert bronze.holds(FILES[2])
    rows = bronze.stored("part", "content", "transactions")
    assert any(row["part"] > 0 for row in rows)
    assert max(len(row["content"]) for row in rows) <= 700
    assert sum(row["transactions"] or 0 for row in rows if row["part"] == 0) == 303


def test_a_file_that_vanishes_after_the_plan_is_skipped(bronze: Bronze) -> None:
    for file in FILES[:2]:
        bronze.put(file)
    run = LayerRun.begin(bronze.spark, bronze.settings, QuietProgress())
    bronze.plan()
    (bronze.input / FILES[1].name).unlink()
    plan = run.ledger.open("bronze")
    assert plan is not None
    carry_out(run, plan)
    row = bronze.rows()[FILES[1].name]
    assert (row.state, row.ingested_upto) == ("faulty", 0)
    assert "changed or vanished" in (row.fault or "")
    bronze.put(FILES[1])
    assert bronze.run().clean
    assert bronze.holds(*FILES[:2])


def test_an_unreadable_file_is_an_error_and_a_vanished_one_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, gone = tmp_path / "log.000001", tmp_path / "log.000002"
    there.touch()

    def refused(path: str, *_: object) -> None:
        raise PermissionError(f"no right to read {path}")

    monkeypatch.setattr("pipeline.bronze.scan.opened", refused)
    tasks = [ScanTask(str(f), f.name, None, None, False, 1, 1) for f in (gone, there)]
    assert scan_all(LocalEngine(2), tasks[:1]) == {}
    with pytest.raises(MissingRequirementError, match=r"this process cannot read \S+, although it"):
        scan_all(LocalEngine(2), tasks)


def test_a_run_killed_before_any_commit_is_finished_by_the_next(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    begun = Bronze(NEVER_STARTED, tmp_path_factory.mktemp("begun"))
    begun.put(FILES[0], 200_000, in_use=True)
    begun.run()
    for commits in range(20):
        bronze = Bronze(NEVER_STARTED, tmp_path_factory.mktemp("killed"))
        shutil.copytree(begun.lake.root, bronze.lake.root)
        bronze.put(FILES[0])
        killed = _killed_after(bronze, commits)
        bronze.put(FILES[1])
        bronze.run()
        assert bronze.holds(*FILES[:2])
        assert {row.state for row in bronze.rows().values()} == {"complete"}
        ends = [(start, end) for _, ordinal, start, end, *_ in bronze.segments() if ordinal == 1]
        assert all(a[1] == b[0] for a, b in pairwise(ends))
        if not killed:
            break
    assert commits == 5  # plan, segments, flag, files, record


def _killed_after(bronze: Bronze, commits: int) -> bool:
    """Run until killed after so many commits; False if there are not as many."""
    with pytest.MonkeyPatch.context() as patch:
        at_commits(patch, Executioner(commits, after=False))
        try:
            bronze.run()
        except Killed:
            return True
    return False


def test_two_runs_at_once_ingest_everything_once(bronze: Bronze) -> None:
    for file in FILES[:2]:
        bronze.put(file)
    errors: list[BaseException] = []

    def one_run() -> None:
        try:
            bronze.run()
        except BaseException as error:
            errors.append(error)

    runs = [threading.Thread(target=one_run) for _ in range(2)]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join()
    assert errors == []
    assert bronze.holds(*FILES[:2])
    starts = [(file, start, part) for file, _, start, _, part, *_ in bronze.segments()]
    assert len(starts) == len(set(starts))
