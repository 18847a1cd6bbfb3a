"""Survey of the files of a log before their rows are read.

Each file is read once: its transactions, table maps and statements are recorded, and whether it is
complete. A log may be larger than memory, so a survey has a few numbers for each transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from decoder import BinlogError, Keys, Segment, SegmentDecoder, TypeOptions
from decoder.constants import MAGIC
from decoder.model import Definitions, Statements, Transactions
from decoder.segments import SegmentBounds, server_version
from decoder.stream import warm
from pipeline.bronze import FileScan, Scanner, ScanTask, Successor, judge
from pipeline.errors import SettingsError
from pipeline.lake import error_text
from pipeline.silver.decode import OFFSET_BITS
from pipeline.silver.plan import Found, table_statements
from pipeline.source import find_binlogs
from pipeline.source.logs import Binlog, StoredFile, logs_by_server, opened, read_with_retries

UNLIMITED = 1 << 62
"""A target size that no file reaches."""
_AT_ONCE = 4
"""Files that are surveyed at the same time: each takes some 50 MB."""
_SIZE = slice(9, 13)
"""The event's size in its header."""


@dataclass(frozen=True, slots=True)
class XaStep:
    """A step of an XA transaction: its PREPARE, or the COMMIT or ROLLBACK that decides it.

    `range`: its bytes in the file.
    """

    lsn: int
    range: tuple[int, int]
    xid: str
    kind: str
    gtid: str | None
    committed_at: int
    """In microseconds since 1970."""

    @property
    def ordinal(self) -> int:
        """The number of its file."""
        return self.lsn >> OFFSET_BITS

    @classmethod
    def prepared(cls, xid: str, ordinal: int, start: int, end: int) -> XaStep:
        """Return an XA PREPARE whose transaction is at [`start`, `end`) of a file."""
        return cls(ordinal << OFFSET_BITS | start, (start, end), xid, "prepare", None, 0)


@dataclass(slots=True)
class LogContent:
    """The contents of a file besides rows.

    `ends`: positions of the ends of its transactions, where it can be divided; not of those with
    rows that were rolled back, as only the next one shows that a transaction never ended. `found`:
    statements and definitions, as silver's survey finds them. `rolled_back`: LSNs of transactions
    with rows that were rolled back. `times`: its first and last commit time, in microseconds since
    1970.
    """

    ends: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    found: list[Found] = field(default_factory=list)
    xa: list[XaStep] = field(default_factory=list)
    rolled_back: set[int] = field(default_factory=set)
    times: tuple[int, int] | None = None
    head: bytes = b""
    """The event at the file's start that defines the layout."""

    def add(self, transactions: pa.RecordBatch) -> None:
        """Note the transactions that have ended."""
        ended = transactions.filter(pc.is_valid(transactions.column("end_pos")))
        if not ended.num_rows:
            return
        kept = ended.filter(pc.is_null(ended.column("rolled_back")))
        self.ends = np.append(self.ends, kept.column("end_pos").to_numpy())
        at = ended.column("committed_at").cast(pa.int64())
        low, high = pc.min(at).as_py(), pc.max(at).as_py()
        known = self.times or (low, high)
        self.times = min(known[0], low), max(known[1], high)
        for column in ("rolled_back", "rolled_back_rows"):
            lsns = ended.column("__lsn").filter(pc.is_valid(ended.column(column)))
            self.rolled_back |= set(lsns.to_pylist())
        self.xa += _xa_steps(ended)


def _xa_steps(transactions: pa.RecordBatch) -> Iterator[XaStep]:
    chosen = transactions.filter(pc.is_valid(transactions.column("xa")))
    times = chosen.column("committed_at").cast(pa.int64()).to_pylist()
    for row, at in zip(chosen.to_pylist(), times, strict=True):
        yield XaStep(
            lsn=row["__lsn"],
            range=(row["start_pos"], row["end_pos"]),
            xid=row["xa"],
            kind=row["xa_end"],
            gtid=row["gtid"],
            committed_at=at,
        )


@dataclass(frozen=True, slots=True)
class SurveyedFile:
    """A file of the log, up to the end of its last whole transaction.

    `complete`: another file follows. `cut_short`: a sentence, if the last file ends inside a
    transaction and is not known to be in use.
    """

    binlog: Binlog
    scan: FileScan
    content: LogContent
    complete: bool = False
    cut_short: str | None = None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.binlog.stored.name

    @property
    def ordinal(self) -> int:
        """The file's place in the log: the number in its name."""
        return self.binlog.number

    @property
    def end(self) -> int:
        """Position of the end of its last whole transaction."""
        return self.scan.boundary.position

    @property
    def commit_times(self) -> tuple[int, int] | None:
        """First and last commit time of its transactions, in microseconds since 1970.

        None if the log does not have them, as before MySQL 8.0 and on MariaDB: then rows have the
        time of their own event, which may be long before their transaction's end.
        """
        first = self.binlog.head.first
        logged = first is not None and first.committed is not None and not self.binlog.head.relay
        return self.content.times if logged else None

    @property
    def segments(self) -> Sequence[SegmentBounds]:
        """Its segments."""
        return self.scan.segments


class LogSurvey:
    """A survey of the files at some locations, repeated only for those that have changed since.

    `target`: approximate size of the files' segments. `given_up`: numbers of files after which
    changes may be missing.
    """

    def __init__(
        self,
        locations: Sequence[str],
        keys: Keys,
        types: TypeOptions,
        *,
        target: int = UNLIMITED,
        given_up: Collection[int] = (),
    ) -> None:
        self._locations = locations
        self._keys = keys
        self._types = types
        self._target = target
        self._given_up = given_up
        self._known: dict[tuple[StoredFile, bool], SurveyedFile] = {}

    def files(self) -> list[SurveyedFile]:
        """Return the log's files in order. Raises SettingsError unless they are one whole log,
        BinlogError if one of them is damaged or cut short."""
        binlogs = self._log()
        warm()
        followed = {binlog.stored: binlog is not binlogs[-1] for binlog in binlogs}
        new = [one for one in binlogs if (one.stored, followed[one.stored]) not in self._known]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            surveyed = list(threads.map(self._survey, new, (followed[one.stored] for one in new)))
        keys = ((one.stored, followed[one.stored]) for one in new)
        found = self._known | dict(zip(keys, surveyed, strict=True))
        self._known = {key: found[key] for key in followed.items()}
        files = list(self._known.values())
        successors = [*(_successor(file.binlog) for file in files[1:]), None]
        return [self._judged(f, s) for f, s in zip(files, successors, strict=True)]

    def _log(self) -> tuple[Binlog, ...]:
        found = find_binlogs(self._locations, self._keys)
        if found.faults:
            raise BinlogError(" ".join(found.faults))
        logs, _ = logs_by_server(found.binlogs)
        if len(logs) > 1:
            names = ", ".join(sorted({file.stored.path for log in logs for file in log.files})[:4])
            raise SettingsError(
                f"files of several logs: {names}.",
                key="path",
                remedy="Give the files of one log, such as a folder of its own.",
            )
        if not logs and not found.begun:
            raise SettingsError(
                f"no binary logs at {', '.join(self._locations)}.", key="path", remedy=""
            )
        files = logs[0].files if logs else ()
        for before, after in pairwise(files):
            if before.number not in self._given_up:
                _require_next(before, after)
        return files

    def _survey(self, binlog: Binlog, followed: bool) -> SurveyedFile:
        return read_with_retries(partial(_survey_file, binlog, followed, self._types, self._target))

    def _judged(self, file: SurveyedFile, successor: Successor | None) -> SurveyedFile:
        head = file.binlog.head
        verdict = judge(
            file.name,
            file.scan,
            successor,
            relay=head.relay,
            previous_gtids=head.previous_gtids,
        )
        if verdict.fault is None or self._is_accepted(file):
            return replace(file, complete=successor is not None)
        if successor is None and file.scan.fault is None:
            return replace(file, cut_short=verdict.fault)
        raise BinlogError(verdict.fault)

    def _is_accepted(self, file: SurveyedFile) -> bool:
        return file.scan.fault is None and file.ordinal in self._given_up


def _require_next(before: Binlog, after: Binlog) -> None:
    if after.number != before.number + 1:
        lacking = f"{before.base}.{before.number + 1:06}"
        raise SettingsError(
            f"the log has a gap: {lacking} is missing before {after.stored.path}.",
            key="path",
            remedy=f"Add the file. If it is lost, add {before.number} to given_up in the settings"
            " file that the option conf names.",
        )


def _successor(binlog: Binlog) -> Successor:
    head = binlog.head
    return Successor(binlog.stored.name, head.restarted, head.previous_gtids)


def _survey_file(binlog: Binlog, followed: bool, types: TypeOptions, target: int) -> SurveyedFile:
    stored = binlog.stored
    task = ScanTask(
        path=stored.path,
        file=stored.name,
        size=binlog.size,
        stored=None,
        succeeded=followed,
        target=target,
        limit=UNLIMITED,
        cipher=binlog.cipher,
        codec=binlog.codec,
    )
    try:
        with opened(stored.path, binlog.cipher, binlog.codec) as stream:
            return _survey_stream(binlog, Scanner(task), stream, types)
    except (ImportError, ValueError) as error:
        raise BinlogError(f"it cannot be read: {error_text(error)}", file=stored.path) from error


def _survey_stream(
    binlog: Binlog, scanner: Scanner, stream: BinaryIO, types: TypeOptions
) -> SurveyedFile:
    content = LogContent()
    windows = scanner.windows(stream)
    first = next(windows, b"")
    head = first.removeprefix(MAGIC)
    content.head = head[: int.from_bytes(head[_SIZE], "little")]
    place = {"file": binlog.stored.name, "ordinal": binlog.number}
    server = server_version(first) if first else ""
    decoder = SegmentDecoder(Segment(binlog.stored.name, binlog.number), types, rows=False)
    for result in decoder.decode(_rejoined(first, windows)):
        if isinstance(result, Definitions):
            for lsn, pos, definition in result.items:
                text = definition.to_json()
                row = {"kind": "definition", "lsn": lsn, "pos": pos, "content": text}
                content.found.append({**place, **row})
        elif isinstance(result, Statements):
            content.found += ({**place, **row} for row in table_statements(result.batch, server))
        elif isinstance(result, Transactions):
            content.add(result.batch)
    for _ in windows:  # the decoder stops at a fault, which the scan reports, or else the tasks
        pass
    start = {"kind": "segment", "lsn": None, "pos": 0, "content": server}
    content.found.append({**place, **start})
    return SurveyedFile(binlog, scanner.result(), content)


def _rejoined(first: bytes, windows: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from windows
