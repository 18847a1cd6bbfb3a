"""Bronze's job on compressed files: the same rows as for the logs inside."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pipeline.bronze.carry_out import carry_out
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from tests.support.bronze.bronze_input import FILES, IN_USE, Bronze
from tests.support.decoder.archives import SUFFIXES, pack
from tests.support.decoder.encrypted_log import FOLDER, encrypted
from tests.support.spark.no_spark import NEVER_STARTED

FIRST, SECOND, THIRD = FILES[:3]


@pytest.fixture
def bronze(tmp_path: Path) -> Bronze:
    return Bronze(NEVER_STARTED, tmp_path, keyring=str(FOLDER / "keyring"))


def put_packed(bronze: Bronze, codec: str, name: str, log: bytes, folder: str = ".") -> Path:
    """Put a compressed file into the input folder."""
    file = bronze.input / folder / f"{name}{SUFFIXES[codec]}"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(pack(codec, log))
    return file


def finish(bronze: Bronze) -> None:
    """Execute the open plan."""
    run = LayerRun.begin(bronze.spark, bronze.settings, QuietProgress())
    plan = run.ledger.open("bronze")
    assert plan is not None
    carry_out(run, plan)


def test_archives_of_every_kind_are_restored_as_the_logs_inside(bronze: Bronze) -> None:
    logs = [file.read_bytes() for file in (FIRST, SECOND, THIRD)]
    paths = [
        put_packed(bronze, "gzip", FIRST.name, logs[0], "2026-11-21"),
        put_packed(bronze, "zstd", SECOND.name, encrypted(logs[1]), "2026-11-21"),
        put_packed(bronze, "lz4", THIRD.name, logs[2], "2026-11-22"),
    ]
    copy = put_packed(bronze, "gzip", THIRD.name, logs[2], "2026-11-23")
    copy.rename(copy.with_name(f"{THIRD.name}.lz4"))  # the suffix is irrelevant
    (bronze.input / ".snapshot").mkdir()
    bronze.put_bytes(".snapshot/other.000001", logs[0])
    report = bronze.run()
    assert (report.faults, report.gaps) == ((), ())
    (note,) = report.notes
    assert "is skipped" in note
    assert bronze.holds(FIRST, SECOND, THIRD)
    rows = bronze.rows()
    for path, log, file in zip(paths, logs, (FIRST, SECOND, THIRD), strict=True):
        row = rows[file.name]
        taken = {str(path), str(copy.with_name(f"{THIRD.name}.lz4"))}
        assert row.path in taken
        assert (row.state, row.size, row.ingested_upto) == ("complete", len(log), len(log))
        assert row.sha256 == hashlib.sha256(log).hexdigest()
    segments = bronze.segments()
    assert len(segments) > 6
    again = bronze.run()
    assert again.batches == ()
    assert bronze.segments() == segments


def test_a_log_may_be_plain_in_one_run_and_compressed_in_another(bronze: Bronze) -> None:
    log = FIRST.read_bytes()
    growing = bytearray(log[:150_000])
    growing[IN_USE] |= 1
    early = put_packed(bronze, "gzip", FIRST.name, bytes(growing))
    assert bronze.run().clean
    before = bronze.rows()[FIRST.name]
    assert (before.state, before.in_use) == ("open", True)
    assert 100_000 < before.ingested_upto <= 150_000

    bronze.put(FIRST, 300_000, in_use=True)  # the server's own, beside the archive
    assert bronze.run().clean
    assert bronze.rows()[FIRST.name].ingested_upto > 250_000

    (bronze.input / FIRST.name).unlink()
    early.unlink()
    whole = put_packed(bronze, "zstd", FIRST.name, log)
    assert bronze.run().clean
    assert bronze.holds(FIRST)
    row = bronze.rows()[FIRST.name]
    assert (row.path, row.state, row.in_use) == (str(whole), "complete", False)
    assert row.sha256 == hashlib.sha256(log).hexdigest()

    # A file with less than the lake has is an older copy, not a fault.
    whole.unlink()
    put_packed(bronze, "lz4", FIRST.name, bytes(growing))
    report = bronze.run()
    assert (report.clean, report.batches) == (True, ())


def test_a_truncated_archive_is_ingested_up_to_its_last_whole_transaction(bronze: Bronze) -> None:
    file = put_packed(bronze, "gzip", FIRST.name, FIRST.read_bytes())
    packed = file.read_bytes()
    file.write_bytes(packed[: len(packed) // 2])
    put_packed(bronze, "zstd", SECOND.name, SECOND.read_bytes())
    report = bronze.run()
    (fault,) = report.faults
    assert fault.startswith(f"{file.name}, position ")
    assert "ends within its gzip data: it is truncated. Copy the file" in fault
    row = bronze.rows()[FIRST.name]
    assert row.state == "faulty"
    assert row.ingested_upto > 50_000
    assert FIRST.read_bytes().startswith(bronze.restored(FIRST.name))
    assert bronze.holds(SECOND)
    assert bronze.run().batches == ()
    file.write_bytes(packed)
    assert bronze.run().clean
    assert bronze.holds(FIRST, SECOND)


def test_a_plan_can_be_executed_from_a_recompressed_archive(bronze: Bronze) -> None:
    file = put_packed(bronze, "gzip", FIRST.name, FIRST.read_bytes())
    other = put_packed(bronze, "gzip", SECOND.name, SECOND.read_bytes())
    bronze.plan()
    parts = [FIRST.read_bytes()[:9], FIRST.read_bytes()[9:]]
    file.write_bytes(b"".join(pack("gzip", part) for part in parts))
    other.write_bytes(other.read_bytes()[:-50_000])
    finish(bronze)
    rows = bronze.rows()
    assert bronze.holds(FIRST)
    assert rows[FIRST.name].state == "complete"
    assert (rows[SECOND.name].state, rows[SECOND.name].ingested_upto) == ("faulty", 0)
    assert "changed or vanished while it was ingested" in (rows[SECOND.name].fault or "")
    put_packed(bronze, "gzip", SECOND.name, SECOND.read_bytes())
    assert bronze.run().clean
    assert bronze.holds(FIRST, SECOND)
