"""Which transactions are in the lake at a place in its files, by GTID, and how logs follow there.

A source's files are those of its server's log, then maybe of the same begun anew (RESET), or of
another server that has the same transactions: a replica, or an archive under other names. What of
such a log was in the lake before it is told by GTIDs alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from pipeline.bronze.files import FileRow
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS
from pipeline.source.logs.listing import split_name


class Following(Enum):
    """What a file's log is to that of the file before it."""

    SAME = "same"
    ANEW = "begun anew"
    OTHER = "another server's, or under other names"


def log_base(row: FileRow) -> int:
    """What is added to the numbers of a log's files for their ordinals: each log has its own."""
    return row.ordinal - split_name(row.file)[1]


def follows(row: FileRow, following: FileRow, ordinals: Collection[int]) -> Following:
    """How the log goes on between two files; `ordinals` are those of all the source's.

    A log that is begun anew has the ordinal of the last file as its base, another one a free one.
    """
    base = log_base(following)
    if base == log_base(row):
        return Following.SAME
    return Following.ANEW if base in ordinals else Following.OTHER


def last_begun_anew(rows: Sequence[FileRow], upto: int) -> FileRow | None:
    """The file with which the log was begun anew last (RESET), of those up to an ordinal; None
    where it never was. `rows` are the source's, in order of ordinals."""
    ordinals = {row.ordinal for row in rows}
    anew = [
        following
        for row, following in pairwise(rows)
        if following.ordinal <= upto and follows(row, following, ordinals) is Following.ANEW
    ]
    return anew[-1] if anew else None


@dataclass(frozen=True, slots=True)
class Executed:
    """At a place in the files: `gtids` are of all transactions up to it, and of those before the
    first file. `seen` are those that were there when the log under way began, where it is another
    server's: what it holds of them is in the lake already. `shown` is what this log is known to
    hold up to there, by its PREVIOUS_GTIDS and its transactions.
    """

    gtids: GtidSet = NO_GTIDS
    seen: GtidSet = NO_GTIDS
    shown: GtidSet = NO_GTIDS

    def entering(self, following: FileRow, how: Following) -> Executed:
        """At the start of a file."""
        previous = GtidSet.of(following.previous_gtids)
        if how is Following.SAME:
            return replace(self, gtids=self.gtids | previous, shown=self.shown | previous)
        if how is Following.ANEW:
            return Executed(previous, NO_GTIDS, previous)
        return Executed(self.gtids | previous, self.gtids, previous)

    def behind(self, gtids: GtidSet) -> Executed:
        """Behind these transactions."""
        return replace(self, gtids=self.gtids | gtids, shown=self.shown | gtids)

    def unseen(self, shown: GtidSet) -> str:
        """What was in the lake when this log began, and is not in it, if it holds `shown`.

        Of a MariaDB server that the log names, the lake may have more than it although the domain
        goes on with another one's: that was lost in a failover.
        """
        lacking = shown.lacking(self.seen.from_first_of(shown))
        return lacking or shown.lacking_of_servers(self.seen.of_servers_in(shown))

    @property
    def is_whole(self) -> bool:
        """Whether the log under way has shown all that the lake had when it began: before that, a
        transaction of its own may be one that no server had without the others."""
        return not self.seen or not self.unseen(self.shown)

    def to_dict(self) -> dict[str, str]:
        """For the ledger."""
        return {"gtids": str(self.gtids), "seen": str(self.seen), "shown": str(self.shown)}

    @classmethod
    def from_dict(cls, texts: Mapping[str, str]) -> Executed:
        """What `to_dict` gave."""
        return cls(*(GtidSet.of(texts[name]) for name in ("gtids", "seen", "shown")))
