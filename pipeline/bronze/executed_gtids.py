"""The GTIDs executed at a position in a source's files, and how its logs follow each other.

A source's files are those of its server's log, possibly followed by the same server's log after
RESET, or by the log of another server with the same transactions: a replica, or an archive under
other names. Only GTIDs show which transactions of such a log were in the lake before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from pipeline.bronze.tables import FileRow
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS
from pipeline.source.logs.listing import split_name


class Following(Enum):
    """Relation of a file's log to that of the previous file."""

    SAME = "same"
    AFTER_RESET = "after RESET"
    OTHER = "another server's, or under other names"


def log_base(row: FileRow) -> int:
    """Return a log's base: a file's ordinal minus the number in its name."""
    return row.ordinal - split_name(row.file)[1]


def follows(row: FileRow, following: FileRow, ordinals: Collection[int]) -> Following:
    """Return how the log continues between two files; `ordinals`: of all the source's files.

    The base of a log after RESET is the ordinal of the last file before it; that of another log is
    an ordinal that no file has.
    """
    base = log_base(following)
    if base == log_base(row):
        return Following.SAME
    return Following.AFTER_RESET if base in ordinals else Following.OTHER


def first_after_reset(rows: Sequence[FileRow], upto: int) -> FileRow | None:
    """Return the first file after the last RESET, of files up to an ordinal; None if the log was
    never reset. `rows` are the source's, in order of ordinals."""
    ordinals = {row.ordinal for row in rows}
    after_reset = [
        following
        for row, following in pairwise(rows)
        if following.ordinal <= upto and follows(row, following, ordinals) is Following.AFTER_RESET
    ]
    return after_reset[-1] if after_reset else None


_Text = Annotated[GtidSet, PlainValidator(lambda text: GtidSet.of(text)), PlainSerializer(str)]
"""A set that JSON has in the server's notation."""


@dataclass(frozen=True, slots=True)
class ExecutedGtids:
    """The GTIDs at a position in the files.

    `gtids`: of all transactions up to it, including those before the first file. `seen`: those that
    were in the lake when the current log began, if it is another server's: its copies of them are
    not applied again. `shown`: those that this log is known to contain up to the position, by its
    PREVIOUS_GTIDS and its transactions.
    """

    gtids: _Text = NO_GTIDS
    seen: _Text = NO_GTIDS
    shown: _Text = NO_GTIDS

    def entering(self, following: FileRow, how: Following) -> ExecutedGtids:
        """Return the state at the start of a file."""
        previous = GtidSet.of(following.previous_gtids)
        if how is Following.SAME:
            return replace(self, gtids=self.gtids | previous, shown=self.shown | previous)
        if how is Following.AFTER_RESET:
            return ExecutedGtids(previous, NO_GTIDS, previous)
        return ExecutedGtids(self.gtids | previous, self.gtids, previous)

    def after(self, gtids: GtidSet) -> ExecutedGtids:
        """Return the state after these transactions."""
        return replace(self, gtids=self.gtids | gtids, shown=self.shown | gtids)

    def unseen(self, shown: GtidSet) -> str:
        """Return the GTIDs that the lake had when this log began and that a log with `shown` lacks.

        In MariaDB, the lake may have more transactions of a server than a log that names it, while
        the domain continues with another server's: these were lost in a failover.
        """
        lacking = shown.lacking(self.seen.without_numbers_before_first_of(shown))
        return lacking or shown.missing_by_server(self.seen.restricted_to_servers_of(shown))

    @property
    def is_whole(self) -> bool:
        """True if the current log has shown every transaction that the lake had when it began.

        Before that, applying its new transactions may give a state that no server ever had.
        """
        return not self.seen or not self.unseen(self.shown)
