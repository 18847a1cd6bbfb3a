"""Ranges of a log file between two transactions: the partitions of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from decoder import BinlogError, Segment
from decoder.encryption import StreamCipher
from decoder.errors import TruncatedError
from pipeline.errors import SettingsError
from pipeline.silver.decode import OFFSET_BITS, TableNames
from pipeline.source.logs import head_of, opened, read_windows
from pyspark_binlog.log_survey import SurveyedFile
from pyspark_binlog.xa_outcomes import XaOutcomes


@dataclass(frozen=True)
class LogRange(InputPartition):
    """The bytes of a file from the start of `segment` to `end`, and what decoding them needs.

    `incarnation`: identifies the file beyond its name (see `decoder.segments.log_header`).
    `surveyed`: the end of the last whole transaction in the file when it was surveyed.
    `rolled_back`: it has transactions with rows that were rolled back. `times`: the first and last
    commit time of the file's transactions, in microseconds since 1970; None: unknown.
    """

    path: str
    cipher: StreamCipher | None
    codec: str | None
    incarnation: str
    surveyed: int
    segment: Segment
    end: int
    names: TableNames
    xa: XaOutcomes
    rolled_back: bool
    times: tuple[int, int] | None

    @property
    def lsns(self) -> tuple[int, int]:
        """The least and the greatest LSN that its rows may have."""
        first = lsn_at(self.segment.ordinal, self.segment.start_pos)
        last = lsn_at(self.segment.ordinal, self.end) - 1
        return first, max([last, *(commit.lsn for commit in self.xa.commits.values())])

    @property
    def commit_times(self) -> tuple[int, int] | None:
        """The first and last commit time that its rows may have; None: unknown."""
        if self.times is None:
            return None
        at = [commit.committed_at for commit in self.xa.commits.values()]
        return min([self.times[0], *at]), max([self.times[1], *at])

    def parts(self) -> Iterator[pa.Buffer]:
        """Yield the bytes, in windows.

        Raises OSError if the file cannot be read, BinlogError if it has become shorter, or if
        another file has its name now.
        """
        position = self.segment.start_pos
        with opened(self.path, self.cipher, self.codec) as stream:
            # Opened first: what replaces the file after this is not what is read here.
            self._require_same_file()
            stream.seek(position)
            for window in read_windows(stream, self.end - position):
                position += len(window)
                yield pa.py_buffer(window)
        if position < self.end:
            raise TruncatedError(
                f"the file had {self.end} bytes when the DataFrame was loaded. Load it again.",
                file=self.segment.file,
                position=position,
            )

    def _require_same_file(self) -> None:
        """Raise BinlogError if the file belongs to another log now.

        A file that has grown is the same one, though its size, time and ETag differ.
        """
        try:
            found = head_of(self.path, self.cipher, self.codec, self.surveyed).incarnation
        except BinlogError:
            found = ""
        # Files of a capture's later turns have the turn after it.
        if not found or not self.incarnation.startswith(found):
            raise BinlogError(
                "the file begins with other bytes than when the DataFrame was loaded: it was"
                " replaced. Load it again.",
                file=self.segment.file,
                position=0,
            )


def lsn_at(ordinal: int, position: int) -> int:
    """Return the LSN of a transaction that begins at a position of a file."""
    return ordinal << OFFSET_BITS | position


def whole_file(file: SurveyedFile, names: TableNames, xa: XaOutcomes) -> Iterator[LogRange]:
    """Yield the file's segments."""
    for bounds in file.segments:
        start, end = bounds.start.position, bounds.end.position
        segment = Segment(file.name, file.ordinal, start, bounds.transaction_pos, bounds.preamble)
        yield _range(file, segment, end, names, xa)


def part_of(
    file: SurveyedFile, start: int, end: int, names: TableNames, xa: XaOutcomes
) -> LogRange:
    """Return the file's range between two transactions. Raises SettingsError for a relay log."""
    return _range(file, _segment_at(file, start), end, names, xa)


def _segment_at(file: SurveyedFile, start: int) -> Segment:
    if not start:
        return Segment(file.name, file.ordinal)
    head = file.binlog.head
    if head.relay:
        raise SettingsError(
            f"{file.name} is a relay log, which cannot be read as a stream.",
            key="path",
            remedy="Read the replica's own binary logs, or read the files with spark.read.",
        )
    return Segment(file.name, file.ordinal, start, preamble=file.content.head)


def _range(
    file: SurveyedFile, segment: Segment, end: int, names: TableNames, xa: XaOutcomes
) -> LogRange:
    bounds = lsn_at(file.ordinal, segment.start_pos), lsn_at(file.ordinal, end)
    return LogRange(
        path=file.binlog.stored.path,
        cipher=file.binlog.cipher,
        codec=file.binlog.codec,
        incarnation=file.binlog.head.incarnation,
        surveyed=file.end,
        segment=segment,
        end=end,
        names=names,
        xa=xa.within(*bounds),
        rolled_back=any(bounds[0] <= lsn < bounds[1] for lsn in file.content.rolled_back),
        times=file.commit_times,
    )


def names_of(names: TableNames, table: str | None) -> TableNames:
    """Return the names needed by a task that reads only one table."""
    if table is None:
        return names
    kept = {
        shown: known
        for shown, known in names.by_shown.items()
        if any(str(definition) == table for _, definition in known)
    }
    return TableNames(kept)


def divided(file: SurveyedFile, start: int, end: int, size: int | None) -> Sequence[int]:
    """Return where to divide a range of a file into ranges of about `size` bytes, with its end."""
    found = []
    if size is not None:
        for position in file.content.ends.tolist():
            if start + size <= position < end:
                found.append(position)
                start = position
    return [*found, end]
