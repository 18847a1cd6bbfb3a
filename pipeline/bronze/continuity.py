"""Detection of gaps between a source's files, in which changes would be lost.

Missing files are detected by their numbers, a missing end by a file's state. Only GTIDs prove that
nothing is missing between two files: all in the second one's PREVIOUS_GTIDS must be in the files
before it. Between the logs of two servers this is the only check.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pipeline.bronze.executed_gtids import ExecutedGtids, Following, follows
from pipeline.bronze.tables import FileRow
from pipeline.source import GtidSet

BRING = "copy the missing files from the server or its backup."


def gaps(rows: Sequence[FileRow], given_up: Collection[int] = (), since: int = 0) -> Iterator[str]:
    """Yield a sentence for each gap in the log; `rows` in order of ordinals.

    `given_up`: the ordinals of files after which a gap is accepted. Gaps after files before `since`
    are not reported.
    """
    for row, following, gap in _between(rows):
        reported = row.ordinal >= since and row.ordinal not in given_up and row.fault is None
        if gap and reported:
            yield f"{gap} {remedy(row, following)}"


def accepted(rows: Sequence[FileRow], given_up: Collection[int]) -> Iterator[tuple[FileRow, str]]:
    """Yield the files after which a gap is accepted, with the gap."""
    for row, _, gap in _between(rows):
        if gap and row.ordinal in given_up:
            yield row, gap


def _between(rows: Sequence[FileRow]) -> Iterator[tuple[FileRow, FileRow, str | None]]:
    ordinals = {row.ordinal for row in rows}
    executed = ExecutedGtids()
    for number, row in enumerate(rows):
        how = follows(rows[number - 1], row, ordinals) if number else Following.AFTER_RESET
        executed = executed.entering(row, how).after(GtidSet.of(row.gtids))
        if number + 1 < len(rows):
            following = rows[number + 1]
            yield row, following, gap_between(row, following, executed, ordinals)


def remedy(row: FileRow, following: FileRow) -> str:
    """Return what a gap between two files means, and what to do if it cannot be closed."""
    return (
        f"{following.file} and all later files wait. If the missing changes are lost for good (in a"
        f" failover, for example), add file number {row.ordinal} to given_up in the settings. Later"
        " files are then applied, and tables may differ from the source until they are seeded"
        " again."
    )


def gap_between(
    row: FileRow, following: FileRow, executed: ExecutedGtids, ordinals: Collection[int]
) -> str | None:
    """Return what is missing between two files, or None; `executed`: at the end of the first."""
    how = follows(row, following, ordinals)
    if how is Following.OTHER:
        return _of_another_server(following, executed)
    gap = _missing_files(row, following)
    if gap and executed.seen and following.previous_gtids:
        # All transactions in missing files of an overlapping log may have been in the lake before.
        lacking = executed.gtids.lacking(GtidSet.of(following.previous_gtids))
        return gap if lacking else None
    if gap:
        return gap
    return (
        _after_reset(following, executed)
        if how is Following.AFTER_RESET
        else _other_history(row, following, executed)
    )


def _missing_files(row: FileRow, following: FileRow) -> str | None:
    absent = following.ordinal - row.ordinal - 1
    if absent:
        what = "1 file is" if absent == 1 else f"{absent} files are"
        return (
            f"{what} missing between {row.file} and {following.file}:"
            " copy the missing files from the server or its backup."
        )
    if not row.complete:
        why = row.fault or "the server has not closed it"
        return (
            f"{row.file} (number {row.ordinal}) is ingested up to position {row.ingested_upto} and"
            f" not complete ({why}), but {following.file} follows: copy {row.file} again."
        )
    return None


def _after_reset(following: FileRow, executed: ExecutedGtids) -> str | None:
    """Return the gap before a log after RESET, which clears GTIDs unless they were set again."""
    lacking = executed.gtids.lacking(GtidSet.of(following.previous_gtids))
    return _comes_after(following, lacking) if lacking else _foreign(following, executed)


def _foreign(following: FileRow, executed: ExecutedGtids) -> str | None:
    """Return a sentence if the server has the file names and id of the lake's, but another UUID."""
    its = GtidSet.of(following.previous_gtids, following.gtids)
    if not its.shares_no_origin_with(executed.gtids):
        return None
    return (
        f"{following.file} has {its}, and shares no transaction with the files before it. If it is"
        " from another server, ingest it under another source name (--source)."
    )


def _of_another_server(following: FileRow, executed: ExecutedGtids) -> str | None:
    if following.previous_gtids is None:
        return (
            f"{following.file} is from another server (id {following.server_id}), and without GTIDs"
            " it cannot be determined which of its transactions are in the lake already."
        )
    previous = GtidSet.of(following.previous_gtids)
    # Two servers may use the same sequence numbers of a MariaDB domain: for each server that the
    # lake has, its own transactions must be in the lake.
    lacking = executed.gtids.lacking(previous) or executed.gtids.missing_by_server(
        previous.restricted_to_servers_of(executed.gtids)
    )
    return _comes_after(following, lacking) if lacking else None


def _comes_after(following: FileRow, lacking: str) -> str:
    return (
        f"{following.file} (server {following.server_id}) lists {lacking} as already executed, but"
        f" no earlier file contains them: {BRING}"
    )


def _other_history(row: FileRow, following: FileRow, executed: ExecutedGtids) -> str | None:
    before, after = row.previous_gtids or "", following.previous_gtids or ""
    if not (before or after):
        if row.server_id == following.server_id:
            return _foreign(following, executed)
        return (
            f"{row.file} is from server {row.server_id}, {following.file} from server"
            f" {following.server_id}, and without GTIDs it cannot be determined what is missing"
            " between them. Ingest another server's log under another source name (--source)."
        )
    earlier, previous = GtidSet.of(before), GtidSet.of(after)
    if forgotten := previous.lacking(earlier):
        return (
            f"{following.file} is from a server that has not executed {forgotten}, which"
            f" {row.file} contains. If the log was reset (RESET), copy the files between them. If"
            " it is another server's, ingest it under another source name (--source)."
        )
    had = earlier | GtidSet.of(row.gtids) | executed.gtids
    if row.gtids is not None and (lacking := had.lacking(previous)):
        return (
            f"{following.file} lists {lacking} as already executed, but no earlier file contains"
            f" them: {BRING}"
        )
    return _foreign(following, executed)
