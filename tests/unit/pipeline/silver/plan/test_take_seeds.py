"""A batch of silver uses seeds of its own log, once it has passed their last position."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.bronze.tables import FileRow
from pipeline.schema_history import Timeline
from pipeline.schema_history.timeline.timeline import TimelineOptions
from pipeline.settings import Settings
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.silver.plan.stored_seeds import Seed, is_refused, put_seed
from pipeline.silver.plan.take_seeds import SilverReached, take

CREATE = "CREATE TABLE `item` (`id` int NOT NULL, PRIMARY KEY (`id`))"
A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def file(name: str, ordinal: int, **values: Any) -> FileRow:
    fields: dict[str, Any] = {
        "source": "live", "file": name, "incarnation": "", "ordinal": ordinal, "path": name,
        "size": 1000, "modified": "", "state": "complete", "complete": True, "fault": None,
        "ingested_upto": 1000, "crc32": 0, "sha256": None, "in_use": False,
        "server_version": "9.7.0", "server_id": 1, "checksum": "CRC32", "previous_gtids": None,
        "gtids": None, "begun": 100, "restarted": False, "batch": 1,
    }  # fmt: skip
    return FileRow(**{**fields, **values})


FILES = (file("b.000001", 1), file("b.000002", 2, begun=200))


def seed(first: tuple[str, int], last: tuple[str, int] | None = None, **values: Any) -> Seed:
    fields = {"exact": last is None, "rows": 1, "server": "9.7.0", "server_id": 1, "at": 250}
    place = last or first
    return Seed("shop~item~1", "shop", "item", CREATE, first, place, **{**fields, **values})


def taken(
    tmp_path: Path,
    one: Seed,
    files: tuple[FileRow, ...] = FILES,
    *,
    end: tuple[int, int] = (2, 500),
    at_end: bool = False,
    last_lsn: int = 2 << OFFSET_BITS | 400,
    removed: int = 0,
) -> tuple[int | None, str]:
    """Return the LSN that the seed is used with, and the messages."""
    settings = Settings(source="live", lake=str(tmp_path))
    put_seed(settings.layout, "live", one)
    reached = SilverReached(last_lsn, end, files, at_end, removed)
    found = take(settings, [one], Timeline((), TimelineOptions()), (), reached)
    refused = is_refused(settings.layout, "live", one.id)
    assert refused == any("cannot be used" in fault for fault in found.faults)
    lsns = [item.seed.lsn for item in found.items if item.seed]
    return (lsns[0] if lsns else None), " ".join((*found.notes, *found.faults))


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (("b.000001", 300), None, (1, 299)),
        (("b.000001", 300), ("b.000002", 500), (1, 299)),
        (("b.000002", 500), None, (2, 499)),
    ],
)
def test_a_seed_is_used_after_its_last_position(
    tmp_path: Path,
    first: tuple[str, int],
    last: tuple[str, int] | None,
    expected: tuple[int, int],
) -> None:
    ordinal, position = expected
    assert taken(tmp_path, seed(first, last)) == (ordinal << OFFSET_BITS | position, "")


def test_the_end_of_bronze_passes_positions_without_transactions(tmp_path: Path) -> None:
    one = seed(("b.000002", 800))
    assert taken(tmp_path, one)[0] is None
    assert taken(tmp_path, one, at_end=True)[0] == 2 << OFFSET_BITS | 799
    assert taken(tmp_path, seed(("b.000002", 1001)), at_end=True)[0] is None


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (seed(("b.000002", 501)), "has not reached b.000002:501"),
        (seed(("b.000003", 4)), "has not reached b.000003:4"),
        (seed(("b.000001", 4), ("b.000003", 4)), "has not reached b.000003:4"),
        # the file of that name is another server's, or from before a RESET
        (seed(("b.000001", 4), server_id=2), "of the server with server_id 2"),
        (seed(("b.000002", 4), at=150), "has not reached b.000002:4"),
    ],
)
def test_a_seed_waits_for_its_own_log(tmp_path: Path, one: Seed, message: str) -> None:
    lsn, note = taken(tmp_path, one)
    assert lsn is None
    assert "is waiting" in note
    assert message in note


def test_the_log_may_rotate_while_a_seed_is_read(tmp_path: Path) -> None:
    files = (*FILES, file("b.000003", 3, begun=300), file("b.000003", 9, server_id=2, begun=310))
    one = seed(("b.000002", 300), ("b.000003", 500))
    assert taken(tmp_path, one, files, end=(3, 499))[0] is None
    assert taken(tmp_path, one, files, end=(3, 500))[0] == 2 << OFFSET_BITS | 299


def test_a_seed_is_refused_if_the_log_was_reset_before_its_last_position(tmp_path: Path) -> None:
    names = ("b.000001", "b.000002", "b.000003")
    reset = (file(name, 3 + n, begun=300 + n) for n, name in enumerate(names))
    one = seed(("b.000002", 300), ("b.000003", 500))
    lsn, note = taken(tmp_path, one, (*FILES, *reset), end=(5, 900))
    assert lsn is None
    assert "reset, and the lake lacks b.000003" in note


def test_of_files_with_the_same_name_its_server_s_last_one_is_used(tmp_path: Path) -> None:
    files = (
        *FILES,
        file("b.000002", 7, server_id=2, begun=220),
        file("b.000002", 9, begun=240),
        file("b.000002", 11, begun=300),
    )
    end = (11, 900)
    assert taken(tmp_path, seed(("b.000002", 4)), files, end=end)[0] == 9 << OFFSET_BITS | 3
    of_two = seed(("b.000002", 4), server_id=2)
    assert taken(tmp_path, of_two, files, end=end)[0] == 7 << OFFSET_BITS | 3
    dumped = seed(("b.000002", 4), server_id=None, at=None)
    assert "several files" in taken(tmp_path, dumped, files, end=end)[1]


@pytest.mark.parametrize(
    ("gtids", "lacks"),
    [("", ""), (f"{A}:1-10", ""), (f"{A}:1-7", f"{A}:8-10"), (f"{A}:1-20", "")],
)
def test_a_server_that_lagged_behind_the_log_before_its_own_is_refused(
    tmp_path: Path, gtids: str, lacks: str
) -> None:
    files = (
        file("b.000001", 1, gtids=f"{A}:1-10"),
        file("b.000002", 2, server_id=2, gtids=f"{A}:11-15"),
    )
    lsn, note = taken(tmp_path, seed(("b.000002", 4), server_id=2, gtids=gtids), files)
    assert (lsn is None) == bool(lacks)
    assert lacks in note


@pytest.mark.parametrize(
    ("one", "removed", "message"),
    [
        (seed(("b.000000", 4)), 0, "the lake lacks b.000000"),
        (seed(("b.000001", 300)), 1 << OFFSET_BITS | 301, "binlake maintain"),
        (seed(("b.000001", 300), types={"time": "string", "zero_dates": "null"}), 0, "types"),
        (
            replace(seed(("b.000001", 300)), query="CREATE VIEW v AS SELECT 1"),
            0,
            "cannot be parsed",
        ),
    ],
)
def test_a_seed_that_cannot_be_brought_up_to_date_is_refused(
    tmp_path: Path, one: Seed, removed: int, message: str
) -> None:
    lsn, note = taken(tmp_path, one, removed=removed)
    assert lsn is None
    assert "cannot be used" in note
    assert message in note
    assert "binlake seed --table shop.item" in note


def test_a_seed_waits_for_the_lake_s_first_transaction(tmp_path: Path) -> None:
    assert "no transaction yet" in taken(tmp_path, seed(("b.000001", 300)), last_lsn=0)[1]
