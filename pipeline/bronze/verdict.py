"""The state of a scanned file: complete, still being written, or faulty."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.bronze.files import State
from pipeline.bronze.scan import Scan
from pipeline.source import GtidSet

COPY_AGAIN = "Copy the file from the server again, and run again."


@dataclass(frozen=True, slots=True)
class Successor:
    """The next file of the log. `restarted`: the server started with it, maybe after a crash.

    `previous_gtids`: every transaction of the log before it.
    """

    file: str
    restarted: bool
    previous_gtids: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A file's state. `keep_tail`: also keep the bytes after the last whole transaction."""

    state: State
    fault: str | None = None
    keep_tail: bool = False


def judge(
    file: str,
    scan: Scan,
    successor: Successor | None,
    *,
    relay: bool,
    previous_gtids: str | None = None,
    recovered: bool = False,
) -> Verdict:
    """Return a file's state by how it ends and which file follows it.

    A file that the server closed ends in ROTATE or STOP. If a file without such an end is followed
    by a restart of the server, either the server crashed, or this copy is incomplete. GTIDs decide:
    the copy is complete if this file's GTIDs and its `previous_gtids` contain all of the next
    file's PREVIOUS_GTIDS. Without GTIDs, only an in-use flag that was set earlier and is clear now
    proves that the server has recovered the file (`recovered`): a copy by `mysqlbinlog --raw` never
    has it set, and a copy that has it set was made before the server closed or recovered the file.
    A relay log is always taken as complete then.
    """
    if scan.fault is not None:
        return Verdict("faulty", f"{scan.fault}. {COPY_AGAIN}")
    if scan.ended:
        return Verdict("complete", keep_tail=True)
    if scan.incomplete is not None and not scan.growing:
        return Verdict("faulty", f"{scan.incomplete}, though the server closed it. {COPY_AGAIN}")
    if successor is not None:
        seen = GtidSet.of(successor.previous_gtids)
        lacking = GtidSet.of(previous_gtids, scan.gtids).lacking(seen)
        proved = bool(seen) or (recovered and not scan.in_use)
        if relay or (successor.restarted and not lacking and proved):
            return Verdict("complete", keep_tail=True)
        if successor.restarted and not lacking:
            return Verdict("faulty", _unproved(file, scan, successor))
        if successor.restarted:
            return Verdict(
                "faulty",
                f"{file} lacks {lacking}, which {successor.file} has in its PREVIOUS_GTIDS."
                f" {COPY_AGAIN}",
            )
        found = scan.incomplete or f"{file}, position {scan.end.position}: the file has no end"
        return Verdict(
            "faulty",
            f"{found}, though the server continued with {successor.file} without a restart."
            f" {COPY_AGAIN}",
        )
    return Verdict("open")


def _unproved(file: str, scan: Scan, successor: Successor) -> str:
    if scan.in_use:
        return (
            f"{file} was copied before the server closed or recovered it, and without GTIDs it"
            f" cannot be determined whether events before {successor.file} are missing."
            f" {COPY_AGAIN}"
        )
    return (
        f"{file} has no ROTATE or STOP at its end, and without GTIDs it cannot be determined"
        " whether the server crashed there, or whether this copy (by mysqlbinlog --raw, for"
        f" example) lacks events before {successor.file}. {COPY_AGAIN} If the server did crash, and"
        " a new copy is the same, add the file's number to given_up in conf."
    )
