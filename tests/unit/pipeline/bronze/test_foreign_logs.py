"""Files of an unrelated server with the same file names and server id as the lake's."""

from __future__ import annotations

import pytest

from pipeline.bronze.order import place
from tests.unit.pipeline.bronze.conftest import MakeBinlog, MakeRow


@pytest.mark.parametrize(
    "names",
    [
        ("log.000001", "log.000002"),  # as after RESET
        ("log.000007", "log.000008"),  # as what comes next
    ],
)
def test_foreign_files_are_refused_and_the_lakes_own_are_ingested(
    binlog: MakeBinlog, row: MakeRow, names: tuple[str, str]
) -> None:
    known = [
        row("log.000005", 5, "a5", previous_gtids="", gtids="u:1-9"),
        row("log.000006", 6, "a6", previous_gtids="u:1-9", gtids="u:10"),
    ]
    first, second = names
    theirs = [
        binlog(first, "x", begun=90, previous="", gtid="v:1", folder="/logs/other"),
        binlog(second, "y", begun=91, previous="v:1-4", gtid="v:5", folder="/logs/other"),
    ]
    order = place(theirs, known)
    assert order.placed == ()
    assert [fault.partition(" ")[0] for fault in order.faults] == [b.stored.path for b in theirs]
    assert "is from another server (with GTIDs v:1), which shares no" in order.faults[0]
    assert "another source name (--source)" in order.faults[0]
    mine = binlog("log.000009", "a9", begun=92, previous="u:1-10", gtid="u:11")
    order = place([*theirs, mine], known)
    assert [(f.binlog.stored.name, f.ordinal) for f in order.placed] == [("log.000009", 9)]
    assert len(order.faults) == 2


def test_a_log_after_reset_of_the_lakes_server_is_not_foreign(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000005", 5, previous_gtids="w:1-3", gtids="u:1-9")]
    for gtid in ("u:1", "w:1", "u:tag:1", None):
        reset = binlog("log.000001", "b", begun=90, previous="", gtid=gtid)
        order = place([reset], known)
        assert ([f.ordinal for f in order.placed], order.faults) == ([6], ())


def test_mariadb_logs_are_foreign_by_domain(binlog: MakeBinlog, row: MakeRow) -> None:
    known = [row("log.000005", 5, previous_gtids="", gtids="0-1-9")]
    for gtid, faults in (("0-2-1", 0), ("3-1-1", 1)):
        reset = binlog("log.000001", "b", begun=90, previous="", gtid=gtid)
        assert len(place([reset], known).faults) == faults
