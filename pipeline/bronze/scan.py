"""Scan of a file, to find its cuts and to check that it is sound: one task per file."""

from __future__ import annotations

import hashlib
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from decoder import BinlogError, Framer, Segmenter
from decoder.constants import EventType
from decoder.encryption.stream_cipher import StreamCipher
from decoder.events.format_description import FormatDescriptionEvent
from decoder.framing.large_event import Mark
from decoder.segments.log_header import read_description
from decoder.segments.segmenter import Cut
from decoder.segments.statistics import EventStatistics
from pipeline.errors import MissingRequirementError
from pipeline.lake import stores
from pipeline.lake.stores import error_text
from pipeline.observe.progress import Task
from pipeline.source.logs.archive import ArchiveError
from pipeline.source.logs.storage import file_name, opened, read_windows, read_with_retries
from pipeline.spark.engine import Engine

_ENDS = (EventType.ROTATE, EventType.STOP)


@dataclass(frozen=True, slots=True)
class ScanTask:
    """A file to read up to `size`, whose bytes before `stored` are in bronze.

    `succeeded`: another file follows. `cipher`: the cipher of an encrypted file; `codec`: the
    compression of a compressed one, whose `size` is None, so that all of it is read.
    """

    path: str
    file: str
    size: int | None
    stored: Mark | None
    succeeded: bool
    target: int
    limit: int
    cipher: StreamCipher | None = None
    codec: str | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan. `boundary`: the end of the last whole transaction; `end`: the file's.

    `fault`: a sentence about the first faulty event, or that the stored bytes have `changed`;
    `incomplete`: why the bytes after `boundary`, if any, are not a whole transaction; `ended`: the
    last event is ROTATE or STOP, followed by padding at most; `growing`: the file is still being
    written; `sha256`: of the file; `gtids`: of its whole transactions, if it has no ROTATE or STOP
    although another file follows.
    """

    cuts: tuple[Cut, ...]
    boundary: Mark
    end: Mark
    fault: str | None
    changed: bool
    incomplete: str | None
    ended: bool
    in_use: bool
    growing: bool
    sha256: str
    gtids: str | None


def cut_to_json(cut: Cut) -> dict[str, Any]:
    """Return a cut as JSON for the plan: marks as [position, crc], the preamble in base64."""
    return {
        "start": [cut.start.position, cut.start.crc],
        "end": [cut.end.position, cut.end.crc],
        "transaction_pos": cut.transaction_pos,
        "preamble": b64encode(cut.preamble).decode(),
    }


def cut_from_json(values: dict[str, Any]) -> Cut:
    """Return the cut from the result of `cut_to_json`."""
    return Cut(
        Mark(*values["start"]),
        Mark(*values["end"]),
        values["transaction_pos"],
        b64decode(values["preamble"]),
    )


def scan(task: ScanTask) -> Scan:
    """Read the file from its beginning, and check that it still starts with the stored bytes."""
    segmenter = Segmenter(target=task.target, limit=task.limit, stored=task.stored)
    digest = hashlib.sha256()
    size = 0
    damage: ArchiveError | None = None
    with opened(task.path, task.cipher, task.codec) as stream:
        try:
            for window in read_windows(stream, task.size):
                segmenter.feed(window)
                if segmenter.fault is not None and segmenter.changed:
                    break
                digest.update(window)
                size += len(window)
        except ArchiveError as error:
            damage = error
        grown = task.size is not None and bool(stream.read(1))
    segmenter.finish()
    framer = segmenter.framer
    end, zeros = _rest(task, segmenter.boundary, size)
    padded = zeros and framer.last_type in _ENDS and framer.end == segmenter.boundary
    ended = (padded or end == framer.end) and framer.last_type in _ENDS
    fault = (None if padded else segmenter.fault) or damage
    incomplete = framer.incomplete if end != segmenter.boundary and not padded else None
    return Scan(
        cuts=tuple(segmenter.cuts),
        boundary=segmenter.boundary,
        end=end,
        fault=_sentence(fault, task),
        changed=segmenter.changed,
        incomplete=_sentence(incomplete, task),
        ended=ended,
        in_use=framer.in_use,
        growing=framer.in_use or grown,
        sha256=digest.hexdigest(),
        gtids=_gtids(task, segmenter.boundary) if task.succeeded and not ended else None,
    )


def scan_all(
    engine: Engine, tasks: Sequence[ScanTask], progress: Task | None = None
) -> dict[int, Scan]:
    """Scan files; return the results by the task's index. `progress` advances by files.

    A file that is gone (purged since it was listed) is skipped: the next run lists the files again,
    and reports it as missing if others follow. Raises MissingRequirementError for a file that
    exists but that tasks cannot read.
    """
    found: dict[int, Scan] = {}
    for index, scanned in engine.run(_attempt, tasks, progress):
        if isinstance(scanned, Scan):
            found[index] = scanned
        else:
            _require_gone(tasks[index].path, scanned, engine.readers)
    return found


def _attempt(task: ScanTask) -> Scan | str:
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


def _gtids(task: ScanTask, boundary: Mark) -> str:
    """Return the GTIDs of the transactions before the boundary."""
    framer, tally = Framer(verify=False), EventStatistics()
    description: FormatDescriptionEvent | None = None
    with opened(task.path, task.cipher, task.codec) as stream:
        for window in read_windows(stream, boundary.position):
            description = description or read_description(window)
            tally.add(framer.feed(window), description)
    return tally.gtid_text


def _rest(task: ScanTask, boundary: Mark, size: int) -> tuple[Mark, bool]:
    """Return the mark at the end of the file, and True if only zeros follow the boundary."""
    if boundary.position == size:
        return boundary, False
    crc, zeros = boundary.crc, True
    with opened(task.path, task.cipher, task.codec) as stream:
        stream.seek(boundary.position)
        for window in read_windows(stream, size - boundary.position):
            crc = zlib.crc32(window, crc)
            zeros = zeros and not window.strip(b"\0")
    return Mark(size, crc), zeros


def _sentence(error: BinlogError | None, task: ScanTask) -> str | None:
    """Return the message of an error in the log, or in the archive that contains it."""
    if error is None:
        return None
    return str(error.at(file=file_name(task.path) if task.codec else task.file))
