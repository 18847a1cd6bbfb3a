"""What a scan means for a file: whether it is complete, still being written, or to be held."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.bronze.files import State
from pipeline.bronze.gtids import GtidSet
from pipeline.bronze.scan import Scan

COPY_AGAIN = "Copy the file from the server again, and run again."


@dataclass(frozen=True, slots=True)
class Successor:
    """The file that follows. `restarted`: the server started with it, maybe after a crash.

    `previous_gtids`: every transaction of the log before it.
    """

    file: str
    restarted: bool
    previous_gtids: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A file's state. `keep_tail`: the bytes behind the last whole transaction are kept too."""

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
) -> Verdict:
    """Decide from how the file ends and what follows it.

    A file that the server closed ends in ROTATE or STOP, and one that it recovered after a crash
    behind a whole transaction: then its in-use flag is clear. Where the flag is set, and the next
    file is there, this is a copy that was made before the server closed or recovered it, and only
    GTIDs can tell that nothing was written behind it: the next file's PREVIOUS_GTIDS has none that
    neither this one nor its own (`previous_gtids`) have. A relay log does not say.
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
        if relay or (successor.restarted and not lacking and (seen or not scan.in_use)):
            return Verdict("complete", keep_tail=True)
        if successor.restarted and not lacking:
            return Verdict(
                "faulty",
                f"{file} was copied before the server closed or recovered it, and without GTIDs"
                f" nothing tells whether it lacks something that is before {successor.file}."
                f" {COPY_AGAIN}",
            )
        if successor.restarted:
            return Verdict(
                "faulty", f"{file} lacks {lacking}, which {successor.file} has seen. {COPY_AGAIN}"
            )
        found = scan.incomplete or f"{file}, position {scan.end.position}: the file has no end"
        return Verdict(
            "faulty",
            f"{found}, though the server went on with {successor.file} without a restart."
            f" {COPY_AGAIN}",
        )
    return Verdict("open")
