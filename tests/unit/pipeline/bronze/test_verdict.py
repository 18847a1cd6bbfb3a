"""The state of a file by its end and its successor."""

from __future__ import annotations

import pytest

from decoder.segments.log_windows import Checkpoint
from pipeline.bronze.scan import Successor, judge
from tests.unit.pipeline.bronze.conftest import MakeScan

NEXT = Successor("log.000002", restarted=False, previous_gtids="u:1-9")
AFTER_CRASH = Successor("log.000002", restarted=True, previous_gtids="u:1-9")
NO_GTIDS = Successor("log.000002", restarted=True, previous_gtids="")
OPEN = {"ended": False, "gtids": "u:4-9", "in_use": True, "growing": True}
CLOSED = {"ended": False, "gtids": "u:4-9"}
TAIL = {"end": Checkpoint(1200, 8), "incomplete": "log.000001, position 1000: the file ends inside"}


@pytest.mark.parametrize(
    ("fields", "successor", "relay", "state", "keep_tail", "message"),
    [
        ({}, None, False, "complete", True, None),
        ({}, NEXT, False, "complete", True, None),
        (OPEN, None, False, "open", False, None),
        ({**OPEN, **TAIL}, None, False, "open", False, None),
        (CLOSED, None, False, "open", False, None),
        ({**CLOSED, **TAIL}, None, False, "faulty", False, "though the server closed it. Copy"),
        # it was closed while it was read: it has grown since it was listed
        ({**CLOSED, **TAIL, "growing": True}, None, False, "open", False, None),
        ({**OPEN, **TAIL}, AFTER_CRASH, False, "complete", True, None),
        (CLOSED, AFTER_CRASH, False, "complete", True, None),
        # mysqlbinlog --raw never sets the flag, whether its copy is complete or not
        (CLOSED, NO_GTIDS, False, "faulty", False, "whether the server crashed there, or"),
        (OPEN, NO_GTIDS, False, "faulty", False, "was copied before the server closed or"),
        # recovery truncates incomplete transactions: this is an incomplete copy
        ({**CLOSED, **TAIL}, AFTER_CRASH, False, "faulty", False, "though the server closed it"),
        ({**CLOSED, "gtids": "u:4-7"}, AFTER_CRASH, False, "faulty", False, "lacks u:8-9, which"),
        (CLOSED, NEXT, False, "faulty", False, "the server continued with log.000002"),
        ({**OPEN, **TAIL}, NEXT, False, "faulty", False, "the file ends inside, though the server"),
        ({**OPEN, **TAIL}, NEXT, True, "complete", True, None),
        ({"fault": "log.000001, position 9: bad"}, NEXT, False, "faulty", False, "bad. Copy the"),
    ],
)
def test_a_file_is_complete_open_or_faulty_by_how_it_ends(
    scanned: MakeScan,
    fields: dict[str, object],
    successor: Successor | None,
    relay: bool,
    state: str,
    keep_tail: bool,
    message: str | None,
) -> None:
    verdict = judge("log.000001", scanned(**fields), successor, relay=relay, previous_gtids="u:1-3")
    assert (verdict.state, verdict.keep_tail) == (state, keep_tail)
    assert (verdict.fault is None) == (message is None)
    assert message is None or message in (verdict.fault or "")


def test_without_gtids_a_crash_is_proved_by_the_cleared_in_use_flag(
    scanned: MakeScan,
) -> None:
    for scan, state in (
        (scanned(**CLOSED), "complete"),
        (scanned(**OPEN), "faulty"),
        (scanned(**CLOSED, **TAIL), "faulty"),
    ):
        verdict = judge("log.000001", scan, NO_GTIDS, relay=False, recovered=True)
        assert verdict.state == state
