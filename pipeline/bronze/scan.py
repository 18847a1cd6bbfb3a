"""Scan of a file for its segments and its state: complete, open or faulty.

Each file is scanned in a task of its own.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from decoder import BinlogError, Framer, Segmenter
from decoder.constants import EventFlag, EventType
from decoder.encryption import StreamCipher
from decoder.events import FormatDescriptionEvent
from decoder.framing import Checkpoint
from decoder.segments import (
    FLAGS_POSITION,
    EventStatistics,
    SegmentBounds,
    description_bytes,
    read_description,
)
from pipeline.bronze.tables import State
from pipeline.errors import MissingRequirementError
from pipeline.lake import stores
from pipeline.lake.stores import error_text
from pipeline.observe.progress import Task
from pipeline.source import GtidSet
from pipeline.source.logs.archive import ArchiveError
from pipeline.source.logs.storage import file_name, opened, read_windows, read_with_retries
from pipeline.spark.engine import Engine

COPY_AGAIN = "Copy the file from the server again, and run again."
_ENDS = (EventType.ROTATE, EventType.STOP)
_HEAD = 4096
"""Bytes that hold a file's FORMAT_DESCRIPTION."""


@dataclass(frozen=True, slots=True)
class ScanTask:
    """A file to read up to `size`, whose bytes before `stored` are in bronze.

    `resumed`: where the last segment in bronze starts, if reading from there on suffices.
    `succeeded`: another file follows. `cipher`: the cipher of an encrypted file; `codec`: the
    compression of a compressed one, whose `size` is None, so that all of it is read.
    """

    path: str
    file: str
    size: int | None
    stored: Checkpoint | None
    succeeded: bool
    target: int
    limit: int
    cipher: StreamCipher | None = None
    codec: str | None = None
    resumed: Checkpoint | None = None


@dataclass(frozen=True, slots=True)
class FileScan:
    """The result of a scan. `boundary`: the end of the last whole transaction; `end`: the file's.

    `fault`: a sentence about the first faulty event, or that the stored bytes have `changed`;
    `incomplete`: why the bytes after `boundary`, if any, are not a whole transaction; `ended`: the
    last event is ROTATE or STOP, followed by padding at most; `growing`: the file is still being
    written; `sha256`: of the file, empty if it was not read from its beginning; `gtids`: of its
    whole transactions, if it has no ROTATE or STOP although another file follows.
    """

    segments: tuple[SegmentBounds, ...]
    boundary: Checkpoint
    end: Checkpoint
    fault: str | None
    changed: bool
    incomplete: str | None
    ended: bool
    in_use: bool
    growing: bool
    sha256: str
    gtids: str | None


def scan(task: ScanTask) -> FileScan:
    """Find the segments after the stored bytes, and check that the file still starts with these.

    A growing file is read from its last segment in bronze on, whose bytes are compared; of the
    bytes before, only the head was compared, when the files were listed. The whole file is read and
    compared once it has ended, or if anything is wrong with it.
    """
    return _scan_end(task) or _scan_whole(task)


def _scan_end(task: ScanTask) -> FileScan | None:
    """Read a file from `task.resumed` on; None if it must be read from its beginning."""
    start, stored, size = task.resumed, task.stored, task.size
    if start is None or stored is None or size is None or size < stored.position or task.succeeded:
        return None
    segmenter = Segmenter(target=task.target, limit=task.limit, stored=stored)
    with opened(task.path, task.cipher) as stream:
        beginning = stream.read(min(start.position, _HEAD))
        description = _description(beginning)
        if description is None:
            return None
        segmenter.resume(start, description)
        stream.seek(start.position)
        read = start.position
        for window in read_windows(stream, size - start.position):
            segmenter.feed(window)
            read += len(window)
        grown = bool(stream.read(1))
    segmenter.finish()
    framer = segmenter.framer
    compared = segmenter.boundary.position >= stored.position
    if segmenter.fault is not None or not compared or framer.last_type in _ENDS:
        return None
    end, _ = _rest(task, segmenter.boundary, read)
    incomplete = framer.incomplete if end != segmenter.boundary else None
    in_use = bool(beginning[FLAGS_POSITION] & EventFlag.BINLOG_IN_USE)
    return FileScan(
        segments=tuple(segmenter.segments),
        boundary=segmenter.boundary,
        end=end,
        fault=None,
        changed=False,
        incomplete=_sentence(incomplete, task),
        ended=False,
        in_use=in_use,
        growing=in_use or grown,
        sha256="",
        gtids=None,
    )


def _description(beginning: bytes) -> bytes | None:
    """Return the FORMAT_DESCRIPTION; None if there is none, or the file was just replaced."""
    try:
        return description_bytes(beginning)
    except BinlogError:
        return None


def _scan_whole(task: ScanTask) -> FileScan:
    """Read a file from its beginning."""
    scanner = Scanner(task)
    with opened(task.path, task.cipher, task.codec) as stream:
        for _ in scanner.windows(stream):
            pass
    return scanner.result()


class Scanner:
    """The scan of a file that something else may read at the same time."""

    def __init__(self, task: ScanTask) -> None:
        self._task = task
        self._segmenter = Segmenter(target=task.target, limit=task.limit, stored=task.stored)
        self._digest = hashlib.sha256()
        self._size = 0
        self._grown = False
        self._damage: ArchiveError | None = None

    def windows(self, stream: BinaryIO) -> Iterator[bytes]:
        """Yield the open file's windows, once each is scanned; all of them must be taken."""
        task, segmenter = self._task, self._segmenter
        try:
            for window in read_windows(stream, task.size):
                segmenter.feed(window)
                if segmenter.fault is not None and segmenter.changed:
                    break
                self._digest.update(window)
                self._size += len(window)
                yield window
        except ArchiveError as error:
            self._damage = error
        self._grown = task.size is not None and bool(stream.read(1))

    def result(self) -> FileScan:
        """Return the scan, after all windows."""
        task, segmenter = self._task, self._segmenter
        segmenter.finish()
        framer = segmenter.framer
        end, zeros = _rest(task, segmenter.boundary, self._size)
        padded = zeros and framer.last_type in _ENDS and framer.end == segmenter.boundary
        ended = (padded or end == framer.end) and framer.last_type in _ENDS
        fault = (None if padded else segmenter.fault) or self._damage
        incomplete = framer.incomplete if end != segmenter.boundary and not padded else None
        return FileScan(
            segments=tuple(segmenter.segments),
            boundary=segmenter.boundary,
            end=end,
            fault=_sentence(fault, task),
            changed=segmenter.changed,
            incomplete=_sentence(incomplete, task),
            ended=ended,
            in_use=framer.in_use,
            growing=framer.in_use or self._grown,
            sha256=self._digest.hexdigest(),
            gtids=_gtids(task, segmenter.boundary) if task.succeeded and not ended else None,
        )


def scan_all(
    engine: Engine, tasks: Sequence[ScanTask], progress: Task | None = None
) -> dict[int, FileScan]:
    """Scan files; return the results by the task's index. `progress` advances by files.

    A file that is gone (purged since it was listed) is skipped: the next run lists the files again,
    and reports it as missing if others follow. Raises MissingRequirementError for a file that
    exists but that tasks cannot read.
    """
    found: dict[int, FileScan] = {}
    for index, scanned in engine.run(_attempt, tasks, progress):
        if isinstance(scanned, FileScan):
            found[index] = scanned
        else:
            _require_gone(tasks[index].path, scanned, engine.readers)
    return found


def _attempt(task: ScanTask) -> FileScan | str:
    """Return the scan, or a message if the file cannot be read."""
    try:
        return read_with_retries(partial(scan, task))
    except (OSError, ImportError) as error:
        return error_text(error)


def _require_gone(path: str, problem: str, readers: str) -> None:
    if stores.exists(path):
        raise MissingRequirementError(
            f"{readers} cannot read {path}, although it exists: {problem}.",
            remedy="Check the path, the installed packages and the credentials there.",
        )


def _gtids(task: ScanTask, boundary: Checkpoint) -> str:
    """Return the GTIDs of the transactions before the boundary."""
    framer, tally = Framer(verify=False), EventStatistics()
    description: FormatDescriptionEvent | None = None
    with opened(task.path, task.cipher, task.codec) as stream:
        for window in read_windows(stream, boundary.position):
            description = description or read_description(window)
            tally.add(framer.feed(window), description)
    return tally.gtid_text


def _rest(task: ScanTask, boundary: Checkpoint, size: int) -> tuple[Checkpoint, bool]:
    """Return the checkpoint at the end of the file, and True if only zeros follow the boundary."""
    if boundary.position == size:
        return boundary, False
    crc, zeros = boundary.crc, True
    with opened(task.path, task.cipher, task.codec) as stream:
        stream.seek(boundary.position)
        for window in read_windows(stream, size - boundary.position):
            crc = zlib.crc32(window, crc)
            zeros = zeros and not window.strip(b"\0")
    return Checkpoint(size, crc), zeros


def _sentence(error: BinlogError | None, task: ScanTask) -> str | None:
    """Return the message of an error in the log, or in the archive that contains it."""
    if error is None:
        return None
    return str(error.at(file=file_name(task.path) if task.codec else task.file))


# --- judging a scanned file -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Successor:
    """The next file of the log. `restarted`: the server started with it, maybe after a crash.

    `previous_gtids`: every transaction of the log before it.
    """

    file: str
    restarted: bool
    previous_gtids: str | None


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """A file's state. `keep_tail`: also keep the bytes after the last whole transaction."""

    state: State
    fault: str | None = None
    keep_tail: bool = False


def judge(
    file: str,
    scan: FileScan,
    successor: Successor | None,
    *,
    relay: bool,
    previous_gtids: str | None = None,
    recovered: bool = False,
) -> FileVerdict:
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
        return FileVerdict("faulty", f"{scan.fault}. {COPY_AGAIN}")
    if scan.ended:
        return FileVerdict("complete", keep_tail=True)
    if scan.incomplete is not None and not scan.growing:
        return FileVerdict(
            "faulty", f"{scan.incomplete}, though the server closed it. {COPY_AGAIN}"
        )
    if successor is not None:
        seen = GtidSet.of(successor.previous_gtids)
        lacking = GtidSet.of(previous_gtids, scan.gtids).lacking(seen)
        proved = bool(seen) or (recovered and not scan.in_use)
        if relay or (successor.restarted and not lacking and proved):
            return FileVerdict("complete", keep_tail=True)
        if successor.restarted and not lacking:
            return FileVerdict("faulty", _unproved(file, scan, successor))
        if successor.restarted:
            return FileVerdict(
                "faulty",
                f"{file} lacks {lacking}, which {successor.file} has in its PREVIOUS_GTIDS."
                f" {COPY_AGAIN}",
            )
        found = scan.incomplete or f"{file}, position {scan.end.position}: the file has no end"
        return FileVerdict(
            "faulty",
            f"{found}, though the server continued with {successor.file} without a restart."
            f" {COPY_AGAIN}",
        )
    return FileVerdict("open")


def _unproved(file: str, scan: FileScan, successor: Successor) -> str:
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
        " a new copy is the same, add the file's number to given_up in the settings."
    )
