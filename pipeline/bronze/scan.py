"""Reading a file once to find where to cut it and whether it is sound: one task per file."""

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
from decoder.segments.statistics import Tally
from pipeline.errors import MissingRequirementError
from pipeline.lake import stores
from pipeline.lake.stores import said_by
from pipeline.observe.progress import Task
from pipeline.source.logs.archive import ArchiveError
from pipeline.source.logs.storage import file_name, opened, read_anew, read_windows
from pipeline.spark.engine import Engine

_ENDS = (EventType.ROTATE, EventType.STOP)


@dataclass(frozen=True, slots=True)
class ScanTask:
    """A file to read up to `size`, of which bronze holds what is before `stored`.

    `succeeded`: the log goes on in another file. `cipher`: what reads it, if it is encrypted;
    `codec`, if it is compressed. Then its `size` is None: all of it is read.
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
    """What reading found. `boundary` marks the end of the last whole transaction, `end` the file's.

    `fault`: the first event at fault, as a sentence, or that the stored bytes have `changed`;
    `incomplete`: why the bytes behind `boundary` are no transaction, if there are such; `ended`:
    whether the server wrote a ROTATE or STOP last, then at most padding; `growing`: whether it is
    still being written. `sha256` is of the file. `gtids`: its whole transactions', where it has no
    end though the log goes on.
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
    """A cut for the plan: marks as [position, crc], the preamble as base64."""
    return {
        "start": [cut.start.position, cut.start.crc],
        "end": [cut.end.position, cut.end.crc],
        "transaction_pos": cut.transaction_pos,
        "preamble": b64encode(cut.preamble).decode(),
    }


def cut_from_json(values: dict[str, Any]) -> Cut:
    """The cut that `cut_to_json` gave."""
    return Cut(
        Mark(*values["start"]),
        Mark(*values["end"]),
        values["transaction_pos"],
        b64decode(values["preamble"]),
    )


def scan(task: ScanTask) -> Scan:
    """Read the file from its beginning, which also tells whether what is stored is still there."""
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
    """Scan files; what was found, by the file's index. `progress` advances by files.

    A file that is gone (purged since it was listed) is left out: the next run lists anew, and where
    files follow it is missing between them. Raises MissingRequirementError for one that is there,
    and that tasks cannot read.
    """
    found: dict[int, Scan] = {}
    for index, scanned in engine.run(_attempt, tasks, progress):
        if isinstance(scanned, Scan):
            found[index] = scanned
        else:
            _require_gone(tasks[index].path, scanned, engine.readers)
    return found


def _attempt(task: ScanTask) -> Scan | str:
    """The scan, or why the file cannot be read."""
    try:
        return read_anew(partial(scan, task))
    except (OSError, ImportError) as error:
        return said_by(error)


def _require_gone(path: str, problem: str, readers: str) -> None:
    if stores.exists(path):
        raise MissingRequirementError(
            f"{readers} cannot read {path}, which is there: {problem}.",
            remedy="Whoever reads it needs the paths, packages and credentials to do so.",
        )


def _gtids(task: ScanTask, boundary: Mark) -> str:
    """The GTIDs of the transactions before the boundary."""
    framer, tally = Framer(verify=False), Tally()
    description: FormatDescriptionEvent | None = None
    with opened(task.path, task.cipher, task.codec) as stream:
        for window in read_windows(stream, boundary.position):
            description = description or read_description(window)
            tally.add(framer.feed(window), description)
    return tally.gtid_text


def _rest(task: ScanTask, boundary: Mark, size: int) -> tuple[Mark, bool]:
    """The mark at the end of the file, and whether only zeros are behind the boundary."""
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
    """What is wrong: with the log, or with the archive that it is in."""
    if error is None:
        return None
    return str(error.at(file=file_name(task.path) if task.codec else task.file))
