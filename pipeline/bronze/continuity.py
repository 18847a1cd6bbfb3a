"""Whether a source's files follow each other without a gap, in which changes would be lost.

Numbers tell of missing files, and a file's state of a missing end. That nothing is missing between
two files is shown by GTIDs alone: what the second one's PREVIOUS_GTIDS holds, the first one and its
own PREVIOUS_GTIDS must hold too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from pipeline.bronze.files import FileRow
from pipeline.bronze.gtids import missing
from pipeline.bronze.listing import split_name


def gaps(rows: Sequence[FileRow], given_up: Collection[int] = ()) -> Iterator[str]:
    """A sentence for each place where the log is not continuous; `rows` in order of ordinals.

    `given_up` holds the ordinals of files behind which a gap is accepted.
    """
    for row, following in pairwise(rows):
        if (
            row.ordinal not in given_up
            and row.fault is None
            and (gap := gap_between(row, following))
        ):
            yield f"{gap} {remedy(row, following)}"


def remedy(row: FileRow, following: FileRow) -> str:
    """What a gap between two files means, and the way on where it cannot be closed."""
    return (
        f"{following.file} and what follows wait. If it is lost for good, name file number"
        f" {row.ordinal} under given_up in conf: then what follows is taken as it is, and tables"
        " may differ from the source until they are seeded anew."
    )


def gap_between(row: FileRow, following: FileRow) -> str | None:
    """What is missing between two files, or nothing."""
    absent = following.ordinal - row.ordinal - 1
    if absent:
        what = "1 file is" if absent == 1 else f"{absent} files are"
        return (
            f"{what} missing between {row.file} and {following.file}:"
            " bring the missing from the server or its backup."
        )
    if not row.complete:
        why = row.fault or "the server has not closed it"
        return (
            f"{row.file} (number {row.ordinal}) is ingested up to {row.ingested_upto} and not"
            f" complete ({why}), but {following.file} follows: copy {row.file} again."
        )
    if split_name(following.file)[1] <= split_name(row.file)[1]:
        return None  # the log was begun anew, and so were its GTIDs, if the server was told so
    return _other_history(row, following)


def _other_history(row: FileRow, following: FileRow) -> str | None:
    before, after = row.previous_gtids or "", following.previous_gtids or ""
    if not (before or after):
        if row.server_id == following.server_id:
            return None
        return (
            f"{row.file} is of server {row.server_id} and {following.file} of server"
            f" {following.server_id}, and without GTIDs nothing tells what is between them:"
            " is it another server's? That needs a source name of its own."
        )
    if forgotten := missing(before, after):
        return (
            f"{following.file} is of a server that has not seen {forgotten}, which {row.file} has:"
            " is it another server's, or was the log begun anew? Then bring the files between."
        )
    if row.gtids is not None and (lacking := missing(after, before, row.gtids)):
        return (
            f"{following.file} comes after {lacking}, which neither {row.file} nor a file before it"
            " has: bring the files between them from the server or its backup."
        )
    return None
