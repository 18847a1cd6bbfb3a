"""Choosing the log of another server to continue with, by GTIDs."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st

from decoder.constants import EventFlag, EventType
from decoder.segments.log_windows import FLAGS_POSITION
from pipeline.source import GtidSet
from pipeline.source.capture.failover import (
    FirstLog,
    first_log,
    is_another,
    landed_gtids,
    not_executed,
)
from pipeline.source.capture.landed_folder import LandedFolder
from pipeline.source.capture.landed_gtids import gtids_before, gtids_of
from pipeline.source.capture.source import Identity, LogFile
from pipeline.source.capture.state import CaptureState, Replica, Turn
from pipeline.source.server.version import ServerVersion
from tests.support.decoder.event_bytes import (
    MAGIC,
    MARIADB_POST_HEADER_LENGTHS,
    event_bytes,
    format_description,
    recorded,
)
from tests.support.decoder.logs import (
    CUP,
    UUID_TEXT,
    gtid,
    insert,
    query,
    transaction,
    with_checksums,
)

MYSQL, MARIADB = ServerVersion.read("9.7.4"), ServerVersion.read("10.11.8-MariaDB")


def begin(
    previous: Sequence[str | None], landed: str, *, server_id: int = 12, ahead: bool = False
) -> FirstLog:
    """Return the first log to capture, given the GTIDs before each of a server's logs."""
    names = [f"binlog.{number:06}" for number in range(1, len(previous) + 1)]
    before_logs = {
        name: None if text is None else GtidSet.of(text)
        for name, text in zip(names, previous, strict=True)
    }
    logs = [LogFile(name, 1000) for name in names]
    had = GtidSet.of(landed)
    return first_log(logs, before_logs.get, had, server_id=server_id, ahead=ahead)


@pytest.mark.parametrize(
    ("previous", "landed", "number"),
    [
        (["", "u:1-5", "u:1-9"], "u:1-9", 3),
        (["", "u:1-5", "u:1-9"], "u:1-8", 2),
        (["", "u:1-5", "u:1-9"], "u:1-4", 1),
        ([None], "u:1-4", 1),  # MySQL 5.6 and before began logs without it
        (["u:1-3", "u:1-5,w:1"], "u:1-9", 1),  # what it committed itself is in the log before
        (["u:1-3", "u:1-5:tag:1"], "u:1-9", 1),
        (["0-1-3", "0-1-5,0-2-7"], "0-1-6", 1),
        (["0-1-3", "0-1-5,0-2-7"], "0-1-6,0-2-7", 2),
        # Another server wrote to its domain before, which the landed logs do not name.
        (["0-9-2,0-1-3", "0-9-2,0-1-5"], "0-1-5", 2),
        # Two servers have used the same numbers of a domain.
        (["0-11-100", "0-11-200,0-12-190"], "0-11-200,0-12-180", 1),
        (["0-11-100", "0-11-200,0-12-190"], "0-11-200,0-12-190", 2),
        (["0-11-100", "0-11-200,0-12-150"], "0-11-200", 1),  # its own are not landed
        (["0-11-100,1-9-4", "0-11-200,1-9-4,0-12-150"], "0-11-200,1-7-5", 1),
    ],
)
def test_the_first_log_is_the_last_before_which_nothing_is_missing(
    previous: list[str | None], landed: str, number: int
) -> None:
    assert begin(previous, landed) == FirstLog(f"binlog.{number:06}")


def test_with_duplicate_mariadb_numbers_only_those_of_the_same_server_count() -> None:
    # It was promoted at 0-1-5, and used numbers that the lost server had used too.
    assert begin(["0-1-3", "0-1-5,0-2-7"], "0-1-9").file == "binlog.000002"
    assert begin(["0-1-3", "0-1-5,0-2-7"], "0-1-9", ahead=True).file == "binlog.000001"


@pytest.mark.parametrize(
    ("server_id", "began", "number"),
    [
        (13, "0-11-0", 1),  # 0-12-103 was committed since, while another server used its number
        (13, "0-11-102", 1),
        (13, "0-11-103", 2),  # it was in the copy from which the landed log's server was set up
        (13, "1-11-4", 2),  # nothing is known of the domain
        (12, "0-11-0", 1),
        (12, "0-11-103", 2),  # the copy was of this server itself
        (12, "1-11-4", 1),
    ],
)
def test_of_an_unnamed_mariadb_server_only_numbers_before_the_first_file_count_as_landed(
    server_id: int, began: str, number: int
) -> None:
    before_logs = {
        "binlog.000001": GtidSet.of("0-11-100"),
        "binlog.000002": GtidSet.of("0-11-105,0-12-103"),
    }
    logs = [LogFile(name, 1000) for name in before_logs]
    had, before = GtidSet.of("0-11-105"), GtidSet.of(began)
    chosen = first_log(logs, before_logs.get, had, server_id=server_id, ahead=False, began=before)
    assert chosen == FirstLog(f"binlog.{number:06}")


@pytest.mark.parametrize(
    ("listed", "first", "before"),
    [
        ([], (0, 11, 1), ""),
        ([], (0, 11, 8), "0-11-7"),
        ([(0, 9, 4)], (0, 11, 5), "0-9-4"),
        ([(1, 9, 4)], (0, 11, 8), "1-9-4,0-11-7"),
    ],
)
def test_gtids_before_a_mariadb_file_come_from_its_list_and_first_transaction(
    listed: list[tuple[int, int, int]], first: tuple[int, int, int], before: str, tmp_path: Path
) -> None:
    domain, server, number = first
    body = struct.pack("<I", len(listed))
    body += b"".join(struct.pack("<IIQ", d, s, n) for d, s, n in listed)
    begun = bytearray(event_bytes(EventType.MARIADB_GTID, struct.pack("<QIB6x", number, domain, 0)))
    begun[5:9] = struct.pack("<I", server)
    path = tmp_path / "binlog.000001"
    path.write_bytes(
        MAGIC
        + format_description("10.11.8-MariaDB", lengths=MARIADB_POST_HEADER_LENGTHS)
        + event_bytes(EventType.MARIADB_GTID_LIST, body)
        + begun
    )
    known = gtids_before(LandedFolder(tmp_path).first)
    assert {p: n for p, n in known.last.items() if n} == GtidSet.of(before).last
    assert not gtids_before(LandedFolder(tmp_path / "..").first)


@pytest.mark.parametrize(
    ("previous", "landed", "number", "lost"),
    [
        (["u:1-7", "u:1-9"], "u:1-5", 1, "u:6-7"),
        (["u:1-7", "u:1-7", "u:1-9"], "u:1-5", 2, "u:6-7"),
        (["u:1-5,w:1-3", "u:1-5,w:1-3", "u:1-6,w:1-3"], "u:1-6", 3, "w:1-3"),
        (["0-1-7,1-1-1"], "0-1-5,1-1-4", 1, "0-1-7"),
        (["0-11-200,0-12-190"], "0-11-200,0-12-180", 1, "0-12-190"),
        (["0-11-200,0-12-150,0-9-3"], "0-11-200", 1, "0-12-150"),
        (["0-11-200,1-9-4"], "0-11-200", 1, "1-9-4"),
    ],
)
def test_purged_gtids_are_named_and_no_more_is_lost(
    previous: list[str | None], landed: str, number: int, lost: str
) -> None:
    assert begin(previous, landed) == FirstLog(f"binlog.{number:06}", GtidSet.of(lost))


@given(
    st.lists(st.sets(st.integers(1, 20), max_size=4), min_size=1, max_size=6),
    st.sets(st.integers(1, 20)),
    st.sets(st.integers(1, 20), max_size=3),
)
def test_nothing_before_the_first_log_is_missing_but_the_lost_gtids(
    held: list[set[int]], landed: set[int], purged: set[int]
) -> None:
    previous, so_far = [], set(purged)
    for numbers in held:
        previous.append(set(so_far))
        so_far |= numbers
    texts: list[str | None] = [",".join(f"u:{n}" for n in numbers) for numbers in previous]
    had = ",".join(f"u:{n}" for n in landed)
    chosen = begin(texts, had)
    at = int(chosen.file[-6:]) - 1
    assert {n for n in range(30) if f"u:{n}" in chosen.lost} == previous[0] - landed
    assert not previous[at] - landed - previous[0]
    assert all(numbers - landed - previous[0] for numbers in previous[at + 1 :])


@pytest.mark.parametrize(
    ("landed", "executed", "lacks"),
    [
        ("u:1-5", "u:1-9,w:1", ""),
        ("u:1-5:tag:1", "u:1-3", "u:4-5:tag:1"),
        ("0-1-5", "0-1-5,0-2-6", ""),
        ("0-1-5", "0-1-3,0-2-6", "0-1-5"),
        ("0-9-2,0-1-5", "0-1-5", ""),  # set up from a copy
    ],
)
def test_what_a_server_has_not_executed(landed: str, executed: str, lacks: str) -> None:
    assert not_executed(GtidSet.of(landed), GtidSet.of(executed)) == lacks


def test_a_domain_that_has_not_got_as_far_is_reported() -> None:
    assert "2-1-4 and earlier" in not_executed(GtidSet.of("2-1-4"), GtidSet.of("0-1-1"))


ONE = CaptureState(Replica.new(), server_uuid="one", server_id=1, server_version="9.7.4")
MARIA = replace(ONE, server_uuid=None, server_version="10.11.8-MariaDB")


@pytest.mark.parametrize(
    ("state", "identity", "another"),
    [
        (CaptureState(Replica.new()), Identity(MYSQL, 1, "one"), False),
        (ONE, Identity(MYSQL, 1, "one"), False),
        (ONE, Identity(MYSQL, 7, "one"), False),
        (ONE, Identity(MYSQL, 1, "two"), True),
        (ONE, Identity(MARIADB, 1, None), True),
        (MARIA, Identity(MARIADB, 1, None), False),
        (MARIA, Identity(MARIADB, 2, None), True),
    ],
)
def test_servers_are_identified_by_uuid_and_mariadbs_by_server_id(
    state: CaptureState, identity: Identity, another: bool
) -> None:
    assert is_another(state, identity) is another


def test_gtids_of_a_landed_file_are_those_of_its_complete_transactions(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    whole = transaction(7, insert(CUP, (1, "a"))), transaction(8, insert(CUP, (2, "b")))
    path.write_bytes(with_checksums(*whole, gtid(9), query("BEGIN"), insert(CUP, (3, "c"))))
    assert gtids_of(path) == GtidSet.of(f"{UUID_TEXT}:7-8")


def test_a_just_created_file_is_skipped_for_the_one_before(tmp_path: Path) -> None:
    whole = recorded("plain")
    (tmp_path / "binlog.000001").write_bytes(whole)
    described = 4 + int.from_bytes(whole[13:17], "little")
    begun = bytearray(whole[:described])
    begun[FLAGS_POSITION] |= EventFlag.BINLOG_IN_USE
    (tmp_path / "binlog.000002").write_bytes(begun)
    assert gtids_of(tmp_path / "binlog.000002") is None
    folder = LandedFolder(tmp_path)
    landed = landed_gtids(folder, CaptureState(Replica.new()))
    assert landed
    assert landed == gtids_of(tmp_path / "binlog.000001")
    turn = Turn(1, "one", 1, "9.7.4", "binlog.000001", "binlog.000009", 9, "w:1-9", "then")
    second = replace(ONE, turn=2, before=(turn,))
    assert landed_gtids(folder, second) == landed | GtidSet.of("w:1-9")
    (tmp_path / "binlog.000001").unlink()
    assert landed_gtids(folder, second) == GtidSet.of("w:1-9")


def test_a_last_file_without_gtids_leaves_the_landed_gtids_unknown(
    tmp_path: Path,
) -> None:
    (tmp_path / "binlog.000001").write_bytes(recorded("plain"))
    folder, state = LandedFolder(tmp_path), CaptureState(Replica.new())
    assert landed_gtids(folder, state)
    # GTIDs were turned off in between: earlier files have some.
    (tmp_path / "binlog.000002").write_bytes(recorded("no_gtid"))
    turn = Turn(1, "one", 1, "9.7.4", "binlog.000001", "binlog.000009", 9, "w:1-9", "then")
    for known in (state, replace(ONE, turn=2, before=(turn,))):
        assert not landed_gtids(folder, known)
    (tmp_path / "binlog.000001").rename(tmp_path / "binlog.000003")  # and on again
    assert landed_gtids(folder, state)


@given(st.data())
def test_a_truncated_file_never_has_more_gtids_than_the_whole_one(
    data: st.DataObject,
) -> None:
    whole = recorded("plain")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "binlog.000001"
        path.write_bytes(whole)
        everything = gtids_of(path)
        truncated = bytearray(whole[: data.draw(st.integers(200, len(whole)))])
        truncated[FLAGS_POSITION] |= EventFlag.BINLOG_IN_USE
        path.write_bytes(truncated)
        found = gtids_of(path)
    assert everything is not None
    assert found is None or everything.holds(found)
