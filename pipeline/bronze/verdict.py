"""What a scan means for a file: whether it is complete, still being written, or to be held."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.bronze.files import State
from pipeline.bronze.scan import Scan
from pipeline.source import GtidSet

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
    recovered: bool = False,
) -> Verdict:
    """Decide from how the file ends and what follows it.

    A file that the server closed ends in ROTATE or STOP. One without such an end, behind which the
    server was started anew, may be a crash's; or this is a copy that lacks something. GTIDs tell:
    the next file's PREVIOUS_GTIDS has none that neither this one nor its own (`previous_gtids`)
    have. Without them only a flag that was seen set, and is clear now, shows that the server has
    recovered the file (`recovered`): a copy by `mysqlbinlog --raw` never has it set, and one that
    has it set was made before the server closed or recovered the file. A relay log does not say.
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
                "faulty", f"{file} lacks {lacking}, which {successor.file} has seen. {COPY_AGAIN}"
            )
        found = scan.incomplete or f"{file}, position {scan.end.position}: the file has no end"
        return Verdict(
            "faulty",
            f"{found}, though the server went on with {successor.file} without a restart."
            f" {COPY_AGAIN}",
        )
    return Verdict("open")


def _unproved(file: str, scan: Scan, successor: Successor) -> str:
    if scan.in_use:
        return (
            f"{file} was copied before the server closed or recovered it, and without GTIDs"
            f" nothing tells whether it lacks something that is before {successor.file}."
            f" {COPY_AGAIN}"
        )
    return (
        f"{file} has no end, and without GTIDs nothing tells whether the server crashed there or"
        f" this copy (by mysqlbinlog --raw, say) lacks something that is before {successor.file}."
        f" {COPY_AGAIN} If the server did crash, and the copy is the same, name the file under"
        " given_up in conf."
    )
