"""Compare a server's snapshot position with gold's, by log positions if there are no GTIDs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from pipeline.bronze.files import write_files
from pipeline.lake import Lake
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.verify.checksums import VerifiedSnapshot
from pipeline.verify.position import only_replicated, other_position
from pipeline.verify.server_file import HASHES, ServerFile
from tests.support.bronze.bronze_rows import file_row
from tests.support.gold.made_lake import MadeLake
from tests.support.silver.made_silver import (
    SERVER,
    SOURCE,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)

T = definition("t")
OTHER = "5" + SERVER[1:]

PLACES = [
    ("log.000001", 2500, ""),
    ("log.000002", 4, "1 transaction earlier"),
    ("log.000001", 1500, "gold's published snapshot is later"),
    ("log.000001", 3500, "gold's published snapshot is 1 transaction earlier"),
    ("log.000001", 5500, "the lake has 5000 bytes"),
    ("log.000009", 4, "not in the lake"),
    (None, None, "had no binary log"),
]
GTIDS = [
    # Rows from before the lake's first file are no difference.
    (f"{SERVER}:3-9", f"{SERVER}:1-9", ""),
    (f"{SERVER}:3-9", f"{SERVER}:1-12", f"The server's snapshot contains {SERVER}:10-12"),
    (f"{SERVER}:3-9", f"{SERVER}:1-7", f"Gold's published snapshot contains {SERVER}:8-9"),
    (f"{SERVER}:3-9:tag:1", f"{SERVER}:1-9", f"Gold's published snapshot contains {SERVER}:tag:1"),
    (f"{SERVER}:3-9", f"{SERVER}:1-9,{OTHER}:1", f"The server's snapshot contains {OTHER}:1"),
    ("0-1-7,1-1-2", "1-1-2,0-1-7", ""),
    ("0-1-7", "0-1-8", "The server's snapshot contains 0-1-8"),
    # Two servers that used one number, of which the lake has the other one's.
    ("0-1-7", "0-2-7", "The server's snapshot contains 0-2-7"),
    ("0-1-6,0-2-7", "0-2-7", ""),
    ("0-1-7,1-1-3", "0-1-7,1-1-2", "Gold's published snapshot contains 1-1-3"),
]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> MadeLake:
    """Return a lake whose silver has three transactions, gold two, and bronze one more file."""
    made = MadeLake(spark, tmp_path_factory.mktemp("position") / "lake")
    made.silver.batch([Tx(n).insert(T, n, "a") for n in (1, 2, 3)], [item("create", 1, T)])
    rows = [
        file_row(
            "log.000001", 1, source=SOURCE, ingested_upto=5000, previous_gtids=f"{SERVER}:1-2"
        ),
        file_row("log.000002", 2, source=SOURCE, ingested_upto=5000),
    ]
    write_files(spark, Lake(made.root), SOURCE, rows, batch=1)
    return made


def run_of(lake: MadeLake) -> LayerRun:
    return LayerRun.begin(lake.spark, lake.settings(), QuietProgress())


def server_file(spark: SparkSession, gtids: str, file: str | None, at: int | None) -> ServerFile:
    hashes = spark.createDataFrame([], HASHES)
    return ServerFile(hashes, "9.7", "", "null", (), gtids, file, at, {}, 1, bool(gtids), gtids)


def test_log_positions_and_gtids_determine_what_a_snapshot_contains(lake: MadeLake) -> None:
    for name, position, expected in PLACES:
        snapshot = VerifiedSnapshot(SOURCE, lsn(2), None, (), frozenset(), ())
        found = server_file(lake.spark, "", name, position)
        sentence = other_position(run_of(lake), snapshot, found)
        assert expected in sentence, (name, position)
        assert bool(sentence) == bool(expected), (name, position)
    for gold, gtids, expected in GTIDS:
        snapshot = VerifiedSnapshot(SOURCE, lsn(2), gold, (), frozenset(), ())
        found = server_file(lake.spark, gtids, "log.000001", 2500)
        sentence = other_position(run_of(lake), snapshot, found)
        assert expected in sentence, (gold, gtids)
        assert bool(sentence) == bool(expected), (gold, gtids)


def test_a_domain_that_a_server_only_once_replicated_is_ignored(lake: MadeLake) -> None:
    snapshot = VerifiedSnapshot(SOURCE, lsn(2), "0-1-7", (), frozenset(), ())
    found = server_file(lake.spark, "0-1-7,9-4-3", "log.000001", 2500)
    where = run_of(lake), snapshot
    # It writes in that domain itself, or it only has replicated it.
    assert "The server's snapshot contains 9-4-3" in other_position(*where, found)
    assert str(only_replicated(*where, replace(found, gtids_logged="0-1-7"))) == "9-4-3"
    assert other_position(*where, replace(found, gtids_logged="0-1-7")) == ""
    # The lake's own domain is looked at, though the server logs nothing of it.
    beyond = replace(found, gtid_set="0-1-8", gtids_logged="")
    assert "The server's snapshot contains 0-1-8" in other_position(*where, beyond)
    assert not only_replicated(*where, beyond)


def test_a_server_that_has_executed_nothing_is_before_gold(lake: MadeLake) -> None:
    """Right after RESET, at the same position in a file of the same name."""
    snapshot = VerifiedSnapshot(SOURCE, lsn(2), f"{SERVER}:3-9", (), frozenset(), ())
    found = replace(server_file(lake.spark, "", "log.000001", 2500), has_gtids=True)
    sentence = other_position(run_of(lake), snapshot, found)
    assert f"Gold's published snapshot contains {SERVER}:3-9" in sentence


def test_log_positions_of_another_server_are_not_comparable(lake: MadeLake) -> None:
    snapshot = VerifiedSnapshot(SOURCE, lsn(2), None, (), frozenset(), ())
    found = replace(server_file(lake.spark, "", "log.000001", 2500), server_id=2)
    assert "without GTIDs their positions" in other_position(run_of(lake), snapshot, found)


def test_in_a_reset_log_only_later_transactions_count(
    lake: MadeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lake's transactions are from the second log; its server also reports one from before."""
    after_reset = file_row("log.000001", 1, source=SOURCE, previous_gtids=f"{OTHER}:1")
    files = [file_row("log.000003", 0, source=SOURCE, gtids=f"{SERVER}:1-99"), after_reset]
    monkeypatch.setattr("pipeline.verify.position.read_files", lambda *_: files)
    snapshot = VerifiedSnapshot(SOURCE, lsn(2), f"{SERVER}:1-99", (), frozenset(), ())
    for gtids, expected in [
        (f"{SERVER}:1-2", ""),
        (f"{SERVER}:1-2,{OTHER}:1", ""),
        (f"{SERVER}:1-3", f"The server's snapshot contains {SERVER}:3"),
        (f"{SERVER}:1", f"Gold's published snapshot contains {SERVER}:2"),
    ]:
        found = server_file(lake.spark, gtids, "log.000001", 2500)
        sentence = other_position(run_of(lake), snapshot, found)
        assert expected in sentence, gtids
        assert bool(sentence) == bool(expected), gtids
