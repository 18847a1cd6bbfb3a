"""What a scan means for a file: whether it is complete, still being written, or to be held."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.bronze.files import State
from pipeline.bronze.scan import Scan

COPY_AGAIN = "Copy the file from the server again, and run again."


@dataclass(frozen=True, slots=True)
class Successor:
    """The file that follows. `restarted`: the server started with it, maybe after a crash."""

    file: str
    restarted: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """A file's state. `keep_tail`: the bytes behind the last whole transaction are kept too."""

    state: State
    fault: str | None = None
    keep_tail: bool = False


def judge(file: str, scan: Scan, successor: Successor | None, *, relay: bool) -> Verdict:
    """Decide from how the file ends and what follows it.

    A file that the server closed ends in ROTATE or STOP. Where it does not, and the next file is
    there, the server crashed, but only if that one says that the server started with it: otherwise
    this is a copy that was made too early. A relay log does not say.
    """
    if scan.fault is not None:
        return Verdict("faulty", f"{scan.fault}. {COPY_AGAIN}")
    if scan.ended:
        return Verdict("complete", keep_tail=True)
    if successor is not None:
        if successor.restarted or relay:
            return Verdict("complete", keep_tail=True)
        found = scan.incomplete or f"{file}, position {scan.end.position}: the file has no end"
        return Verdict(
            "faulty",
            f"{found}, though the server went on with {successor.file} without a restart."
            f" {COPY_AGAIN}",
        )
    if scan.incomplete is not None and not scan.growing:
        return Verdict("faulty", f"{scan.incomplete}, though the server closed it. {COPY_AGAIN}")
    return Verdict("open")
