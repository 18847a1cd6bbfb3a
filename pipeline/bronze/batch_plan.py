"""A batch of bronze as its plan says it: the exact segments of every file, and what becomes of it.

The plan is decided from one look at the input, and committed before anything is written; what
carries it out reads bytes and nothing else from the input.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from decoder.framing.large_event import Mark
from decoder.segments.segmenter import Cut
from pipeline.bronze.files import FileRow
from pipeline.bronze.order import Placed
from pipeline.bronze.scan import Scan, ScanTask, cut_from_json, cut_to_json
from pipeline.bronze.verdict import COPY_AGAIN, Successor, judge
from pipeline.settings.settings import SegmentSettings

_EXPANSION = 5
"""How many times its bytes a compressed log is taken to be, before it is read."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What a batch does with a file: the cuts to ingest, then the row it is to have.

    The last cut is `tail` where it is no whole transaction. `clear_in_use`: the flag that bronze
    holds is set, and the server has cleared it. `codec`: what the file is compressed with.
    """

    row: FileRow
    cuts: tuple[Cut, ...]
    tail: bool
    clear_in_use: bool
    codec: str | None = None

    @property
    def start(self) -> Mark:
        """The end of what bronze holds of it before the batch."""
        return self.cuts[0].start if self.cuts else self.row.stored

    def row_after(self, ingested_upto: int) -> FileRow:
        """The file's row, given how far the batch really came."""
        if ingested_upto == self.row.ingested_upto:
            return self.row
        marks = {cut.end.position: cut.end.crc for cut in self.cuts}
        marks[self.start.position] = self.start.crc
        return replace(
            self.row,
            state="faulty",
            complete=False,
            fault=f"{self.row.file}: it changed or vanished while it was ingested. {COPY_AGAIN}",
            ingested_upto=ingested_upto,
            crc32=marks[ingested_upto],
            sha256=None,
            modified="",
        )


def tasks(
    placed: Sequence[Placed], segments: SegmentSettings, *, succeeded: Collection[int]
) -> tuple[list[tuple[Placed, ScanTask]], bool]:
    """The files to read: new, changed, or perhaps complete now; and whether there are more.

    As many as fill a batch are given. `succeeded` are the ordinals after which the log goes on.
    """
    chosen: list[tuple[Placed, ScanTask]] = []
    size = 0
    for file in placed:
        stored, row = file.binlog.stored, file.row
        goes_on = file.ordinal in succeeded
        if not _worth_reading(file, succeeded=goes_on):
            continue
        mark = row.stored if row is not None and row.ingested_upto else None
        task = ScanTask(
            path=stored.path,
            file=stored.name,
            size=file.binlog.size,
            stored=mark,
            succeeded=goes_on,
            target=int(segments.target),
            limit=int(segments.limit),
            cipher=file.binlog.cipher,
            codec=file.binlog.codec,
        )
        chosen.append((file, task))
        size += max(expected_size(file) - (mark.position if mark else 0), 0)
        if size >= segments.batch:
            return chosen, True
    return chosen, False


def expected_size(file: Placed) -> int:
    """About how many bytes of the log are in a file; of a compressed one that is a guess."""
    size = file.binlog.stored.size
    return size * _EXPANSION if file.binlog.codec else size


def _worth_reading(file: Placed, *, succeeded: bool) -> bool:
    row, stored, size = file.row, file.binlog.stored, file.binlog.size
    if row is None:
        return True
    if size is not None and size < row.ingested_upto and stored.path != row.path:
        return False  # an older copy
    if row.modified != stored.modified or size not in (None, row.size):
        return True
    return row.state == "open" and succeeded


def plan_file(
    source: str, file: Placed, scan: Scan, successor: Successor | None, *, batch: int
) -> FilePlan | None:
    """What to do with a file that was scanned; None where nothing changes."""
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
        shorter = f"{name} has become shorter than what was ingested of it. {COPY_AGAIN}"
        reason = shorter if scan.fault is None else verdict.fault or shorter
        return _only_faulty(before, file, size, reason, batch)
    if scan.changed:
        return _only_faulty(before, file, size, verdict.fault or "", batch) if before else None
    cuts, tail = _with_tail(scan, keep=verdict.keep_tail)
    end = cuts[-1].end if cuts else before.stored if before else scan.boundary
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
    unchanged = before is not None and not cuts and _says_the_same(before, row, packed=packed)
    return None if unchanged else FilePlan(row, cuts, tail, clear, file.binlog.codec)


def _with_tail(scan: Scan, *, keep: bool) -> tuple[tuple[Cut, ...], bool]:
    """The cuts, with what is behind the last whole transaction as one more if it is kept."""
    if not keep or scan.end.position <= scan.boundary.position:
        return scan.cuts, False
    return (*scan.cuts, Cut(scan.boundary, scan.end, None, b"")), True


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
    return None if _says_the_same(before, row) else FilePlan(row, (), False, False)


def _says_the_same(before: FileRow, after: FileRow, *, packed: bool = False) -> bool:
    """Whether writing `after` would tell nothing new; an open file is looked at anew anyway, but
    for a compressed one, which is read only where it is another than its row says."""
    if before.state == after.state == "open" and not packed:
        after = replace(after, size=before.size, modified=before.modified)
    return before == replace(after, batch=before.batch)


def to_body(files: Iterable[FilePlan], *, part_size: int, limit: int, more: bool) -> dict[str, Any]:
    """The plan's body for the ledger; `more`: the batch could not take all that was new."""
    return {
        "more": more,
        "part_size": part_size,
        "limit": limit,
        "files": [
            {
                "row": asdict(file.row),
                "cuts": [cut_to_json(cut) for cut in file.cuts],
                "tail": file.tail,
                "clear_in_use": file.clear_in_use,
                "codec": file.codec,
            }
            for file in files
        ],
    }


def from_body(body: Mapping[str, Any]) -> tuple[list[FilePlan], int, int]:
    """The files of a plan's body, the size of parts, and from which size on there are any."""
    files = [
        FilePlan(
            FileRow(**file["row"]),
            tuple(cut_from_json(cut) for cut in file["cuts"]),
            file["tail"],
            file["clear_in_use"],
            file["codec"],
        )
        for file in body["files"]
    ]
    return files, body["part_size"], body["limit"]
