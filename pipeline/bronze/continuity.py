"""Whether a source's files follow each other without a gap, in which changes would be lost.

Numbers tell of missing files, and a file's state of a missing end. That nothing is missing between
two files is shown by GTIDs alone: what the second one's PREVIOUS_GTIDS holds, the files before it
must hold too. Between the logs of two servers there is nothing else to go by.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pipeline.bronze.executed_gtids import Executed, Following, follows
from pipeline.bronze.files import FileRow
from pipeline.source import GtidSet

BRING = "bring the files between them from the server or its backup."


def gaps(rows: Sequence[FileRow], given_up: Collection[int] = (), since: int = 0) -> Iterator[str]:
    """A sentence for each place where the log is not continuous; `rows` in order of ordinals.

    `given_up` holds the ordinals of files behind which a gap is accepted; what is before the file
    `since` is not told.
    """
    for row, following, gap in _between(rows):
        told = row.ordinal >= since and row.ordinal not in given_up and row.fault is None
        if gap and told:
            yield f"{gap} {remedy(row, following)}"


def accepted(rows: Sequence[FileRow], given_up: Collection[int]) -> Iterator[tuple[FileRow, str]]:
    """The files behind which a gap is accepted, with the gap."""
    for row, _, gap in _between(rows):
        if gap and row.ordinal in given_up:
            yield row, gap


def _between(rows: Sequence[FileRow]) -> Iterator[tuple[FileRow, FileRow, str | None]]:
    ordinals = {row.ordinal for row in rows}
    executed = Executed()
    for number, row in enumerate(rows):
        how = follows(rows[number - 1], row, ordinals) if number else Following.ANEW
        executed = executed.entering(row, how).behind(GtidSet.of(row.gtids))
        if number + 1 < len(rows):
            following = rows[number + 1]
            yield row, following, gap_between(row, following, executed, ordinals)


def remedy(row: FileRow, following: FileRow) -> str:
    """What a gap between two files means, and the way on where it cannot be closed."""
    return (
        f"{following.file} and what follows wait. If it is lost for good, name file number"
        f" {row.ordinal} under given_up in conf: then what follows is taken as it is, and tables"
        " may differ from the source until they are seeded anew."
    )


def gap_between(
    row: FileRow, following: FileRow, executed: Executed, ordinals: Collection[int]
) -> str | None:
    """What is missing between two files, or nothing. `executed` is as it is at the first's end."""
    how = follows(row, following, ordinals)
    if how is Following.OTHER:
        return _of_another_server(following, executed)
    gap = _missing_files(row, following)
    if gap and executed.seen and following.previous_gtids:
        # What the missing files of an overlapping log held may all have been there before.
        lacking = executed.gtids.lacking(GtidSet.of(following.previous_gtids))
        return gap if lacking else None
    if gap:
        return gap
    return (
        _begun_anew(following, executed)
        if how is Following.ANEW
        else _other_history(row, following, executed)
    )


def _missing_files(row: FileRow, following: FileRow) -> str | None:
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
    return None


def _begun_anew(following: FileRow, executed: Executed) -> str | None:
    """After RESET, GTIDs begin anew too, unless the server was told what it has."""
    lacking = executed.gtids.lacking(GtidSet.of(following.previous_gtids))
    return _comes_after(following, lacking) if lacking else _foreign(following, executed)


def _foreign(following: FileRow, executed: Executed) -> str | None:
    """A server that was set up like the lake's may have its name and id, but not its UUID."""
    its = GtidSet.of(following.previous_gtids, following.gtids)
    if not its.is_foreign_to(executed.gtids):
        return None
    return (
        f"{following.file} has {its}, and shares no transaction with what is before it: is it"
        " another server's? That needs a source name of its own."
    )


def _of_another_server(following: FileRow, executed: Executed) -> str | None:
    if following.previous_gtids is None:
        return (
            f"{following.file} is of another server (its id is {following.server_id}), and without"
            " GTIDs nothing tells what of it is in the lake already."
        )
    previous = GtidSet.of(following.previous_gtids)
    # Two servers may use the same numbers of a MariaDB domain: of those that the lake names it must
    # have each one's.
    lacking = executed.gtids.lacking(previous) or executed.gtids.lacking_of_servers(
        previous.of_servers_in(executed.gtids)
    )
    return _comes_after(following, lacking) if lacking else None


def _comes_after(following: FileRow, lacking: str) -> str:
    return (
        f"{following.file} (server {following.server_id}) comes after {lacking}, which no file"
        f" before it has: {BRING}"
    )


def _other_history(row: FileRow, following: FileRow, executed: Executed) -> str | None:
    before, after = row.previous_gtids or "", following.previous_gtids or ""
    if not (before or after):
        if row.server_id == following.server_id:
            return _foreign(following, executed)
        return (
            f"{row.file} is of server {row.server_id} and {following.file} of server"
            f" {following.server_id}, and without GTIDs nothing tells what is between them:"
            " is it another server's? That needs a source name of its own."
        )
    earlier, previous = GtidSet.of(before), GtidSet.of(after)
    if forgotten := previous.lacking(earlier):
        return (
            f"{following.file} is of a server that has not seen {forgotten}, which {row.file} has:"
            " is it another server's, or was the log begun anew? Then bring the files between."
        )
    had = earlier | GtidSet.of(row.gtids) | executed.gtids
    if row.gtids is not None and (lacking := had.lacking(previous)):
        return (
            f"{following.file} comes after {lacking}, which neither {row.file} nor a file before it"
            f" has: {BRING}"
        )
    return _foreign(following, executed)
