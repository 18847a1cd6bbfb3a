"""The plan of a batch of bronze: the exact segments of every file, and the file's row after it.

The plan is made from a single scan of the input, and committed before anything is written; its
execution reads only the planned bytes from the input.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter

from decoder.framing import Checkpoint
from decoder.segments import SegmentBounds
from pipeline.bronze.order import Placed
from pipeline.bronze.scan import COPY_AGAIN, FileScan, ScanTask, Successor, judge, scan_all
from pipeline.bronze.tables import FileRow
from pipeline.layer import LayerRun
from pipeline.settings.settings import SegmentSettings
from pipeline.spark.engine import engine_of

_EXPANSION = 5
"""The assumed compression ratio of a compressed log that has not been read."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The plan for a file: the segments to ingest, and the file's row after the batch.

    `tail`: the last segment is not made of whole transactions. `clear_in_use`: the in-use flag is
    set in bronze, but the server has cleared it. `codec`: the file's compression.
    """

    row: FileRow
    segments: tuple[SegmentBounds, ...]
    tail: bool
    clear_in_use: bool
    codec: str | None = None

    @property
    def start(self) -> Checkpoint:
        """The end of the file's bytes in bronze before the batch."""
        return self.segments[0].start if self.segments else self.row.stored

    def row_after(self, ingested_upto: int) -> FileRow:
        """Return the file's row after the batch, with its bytes committed up to a position."""
        if ingested_upto == self.row.ingested_upto:
            return self.row
        crcs = {segment.end.position: segment.end.crc for segment in self.segments}
        crcs[self.start.position] = self.start.crc
        return replace(
            self.row,
            state="faulty",
            complete=False,
            fault=f"{self.row.file} changed or vanished while it was ingested. {COPY_AGAIN}",
            ingested_upto=ingested_upto,
            crc32=crcs[ingested_upto],
            sha256=None,
            modified="",
        )


@dataclass(frozen=True, slots=True)
class BronzePlan:
    """One batch: its files, and how its large segments are split.

    Segments larger than `limit` bytes are split into parts of `part_size`. `more`: another batch
    has to follow.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        ser_json_bytes="base64", val_json_bytes="base64", defer_build=True
    )

    files: Sequence[FilePlan]
    part_size: int
    limit: int
    more: bool = False

    def to_body(self) -> dict[str, Any]:
        """Return JSON data."""
        body: dict[str, Any] = _FORM.dump_python(self, mode="json")
        return body

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> BronzePlan:
        """Return the plan that `to_body` returned."""
        # Only in JSON text does pydantic read base64 as bytes.
        return _FORM.validate_json(json.dumps(body))


_FORM = TypeAdapter(BronzePlan)


def next_plan(
    run: LayerRun, placed: Sequence[Placed], known: Sequence[FileRow]
) -> BronzePlan | None:
    """Return the layer's next plan; None if nothing is new."""
    settings, last = run.settings, run.ledger.last("bronze")
    batch = last.batch + 1 if last else 1
    successors = successors_of(placed, known)
    ends = {} if last is None else _last_segments(BronzePlan.from_body(last.body))
    to_read, more = tasks(placed, settings.segments, succeeded=set(successors), ends=ends)
    engine = engine_of(run.spark, settings, sum(_read(*one) for one in to_read))
    with run.progress.task("reading new files", len(to_read), "files") as task:
        scans = scan_all(engine, [scan_task for _, scan_task in to_read], task)
    planned = (
        plan_file(settings.source, file, scans[index], successors.get(file.ordinal), batch=batch)
        for index, (file, _) in enumerate(to_read)
        if index in scans
    )
    files = [file for file in planned if file is not None]
    if not files:
        return None
    part_size, limit = int(settings.segments.target), int(settings.segments.limit)
    return BronzePlan(files, part_size, limit, more)


def _last_segments(plan: BronzePlan) -> dict[tuple[str, str], SegmentBounds]:
    """Return the last segment of each file in a plan, by the file's name and incarnation."""
    return {
        (file.row.file, file.row.incarnation): file.segments[-1]
        for file in plan.files
        if file.segments and not file.tail
    }


def _resumed(file: Placed, last: SegmentBounds | None) -> Checkpoint | None:
    """Return the start of the file's last segment in bronze if it can be read from there, or None.

    `last`: the file's last segment in the last plan. A relay log may have several
    FORMAT_DESCRIPTIONs, and a compressed file can only be read from its beginning.
    """
    row, binlog = file.row, file.binlog
    if row is None or last is None or row.state != "open" or last.end != row.stored:
        return None
    if last.transaction_pos is not None or not last.start.position:
        return None
    plain = binlog.codec is None and not binlog.head.relay
    return last.start if plain and binlog.stored.path == row.path else None


def successors_of(placed: Sequence[Placed], known: Sequence[FileRow]) -> dict[int, Successor]:
    """Return the file that follows each file of the source, by the ordinal of the earlier one."""
    successors = {
        row.ordinal - 1: Successor(row.file, row.restarted, row.previous_gtids) for row in known
    }
    successors |= {
        file.ordinal - 1: Successor(
            file.binlog.stored.name, file.binlog.head.restarted, file.binlog.head.previous_gtids
        )
        for file in placed
    }
    return successors


def tasks(
    placed: Sequence[Placed],
    segments: SegmentSettings,
    *,
    succeeded: Collection[int],
    ends: Mapping[tuple[str, str], SegmentBounds] = MappingProxyType({}),
) -> tuple[list[tuple[Placed, ScanTask]], bool]:
    """Return the files to read for one batch, and True if there are more.

    These are files that are new or changed, or that may be complete now. `succeeded`: the ordinals
    of files that are followed by another. `ends`: see `_last_segments`.
    """
    chosen: list[tuple[Placed, ScanTask]] = []
    size = 0
    for file in placed:
        listed, row = file.binlog.stored, file.row
        goes_on = file.ordinal in succeeded
        if not worth_reading(file, succeeded=goes_on):
            continue
        stored = row.stored if row is not None and row.ingested_upto else None
        task = ScanTask(
            path=listed.path,
            file=listed.name,
            size=file.binlog.size,
            stored=stored,
            succeeded=goes_on,
            target=int(segments.target),
            limit=int(segments.limit),
            cipher=file.binlog.cipher,
            codec=file.binlog.codec,
            resumed=_resumed(file, ends.get((listed.name, file.binlog.head.incarnation))),
        )
        chosen.append((file, task))
        size += max(expected_size(file) - (stored.position if stored else 0), 0)
        if size >= segments.batch:
            return chosen, True
    return chosen, False


def expected_size(file: Placed) -> int:
    """Return the approximate bytes of log in a file; an estimate if it is compressed."""
    size = file.binlog.stored.size
    return size * _EXPANSION if file.binlog.codec else size


def _read(file: Placed, task: ScanTask) -> int:
    """Return the approximate bytes that a scan reads."""
    return expected_size(file) - (task.resumed.position if task.resumed else 0)


def worth_reading(file: Placed, *, succeeded: bool) -> bool:
    """Return True if a file is new or changed, or may be complete now; `succeeded`: another file
    follows."""
    row, stored, size = file.row, file.binlog.stored, file.binlog.size
    if row is None:
        return True
    if size is not None and size < row.ingested_upto and stored.path != row.path:
        return False  # an older copy
    if row.modified != stored.modified or size not in (None, row.size):
        return True
    return row.state == "open" and succeeded


def plan_file(
    source: str, file: Placed, scan: FileScan, successor: Successor | None, *, batch: int
) -> FilePlan | None:
    """Return the plan for a scanned file; None if nothing changes."""
    head = file.binlog.head
    name = file.binlog.stored.name
    before = file.row
    verdict = judge(
        name,
        scan,
        successor,
        relay=head.relay,
        previous_gtids=head.previous_gtids,
        recovered=before is not None and before.in_use and before.path == file.binlog.stored.path,
    )
    size = scan.end.position if file.binlog.size is None else file.binlog.size
    if before is not None and size < before.ingested_upto and not scan.changed:
        if scan.fault is None and file.binlog.codec and file.binlog.stored.path != before.path:
            return None  # an older copy
        shorter = f"{name} has become shorter than what was ingested from it. {COPY_AGAIN}"
        reason = shorter if scan.fault is None else verdict.fault or shorter
        return _only_faulty(before, file, size, reason, batch)
    if scan.changed:
        return _only_faulty(before, file, size, verdict.fault or "", batch) if before else None
    segments, tail = _with_tail(scan, keep=verdict.keep_tail)
    end = segments[-1].end if segments else before.stored if before else scan.boundary
    complete = verdict.state == "complete"
    in_bronze = before.in_use if before is not None and before.ingested_upto else scan.in_use
    row = FileRow(
        source=source,
        file=name,
        incarnation=head.incarnation,
        ordinal=file.ordinal,
        path=file.binlog.stored.path,
        size=size,
        modified=file.binlog.stored.modified,
        state=verdict.state,
        complete=complete,
        fault=verdict.fault,
        ingested_upto=end.position,
        crc32=end.crc,
        sha256=scan.sha256 if complete else None,
        in_use=in_bronze and scan.in_use,
        server_version=head.description.server_version,
        server_id=head.description.server_id,
        checksum=head.description.checksum_algorithm.name,
        previous_gtids=head.previous_gtids,
        gtids=None if head.relay else before.gtids if before is not None else "",
        begun=head.description.timestamp,
        restarted=head.restarted,
        batch=batch,
    )
    clear = in_bronze and not scan.in_use
    packed = file.binlog.codec is not None
    unchanged = before is not None and not segments and _is_same_row(before, row, packed=packed)
    return None if unchanged else FilePlan(row, segments, tail, clear, file.binlog.codec)


def _with_tail(scan: FileScan, *, keep: bool) -> tuple[tuple[SegmentBounds, ...], bool]:
    """Return the segments, and if `keep` the bytes after the last whole transaction as one more."""
    if not keep or scan.end.position <= scan.boundary.position:
        return scan.segments, False
    return (*scan.segments, SegmentBounds(scan.boundary, scan.end, None, b"")), True


def _only_faulty(
    before: FileRow, file: Placed, size: int, reason: str, batch: int
) -> FilePlan | None:
    stored = file.binlog.stored
    row = replace(
        before,
        state="faulty",
        complete=False,
        fault=reason,
        size=size,
        modified=stored.modified,
        path=stored.path,
        batch=batch,
    )
    return None if _is_same_row(before, row) else FilePlan(row, (), False, False)


def _is_same_row(before: FileRow, after: FileRow, *, packed: bool = False) -> bool:
    """Return True if `after` differs only in its batch.

    Size and modification time of an open file are ignored, since it is scanned again anyway; a
    compressed file is only read if these differ from its row.
    """
    if before.state == after.state == "open" and not packed:
        after = replace(after, size=before.size, modified=before.modified)
    return before == replace(after, batch=before.batch)
