"""The start position of a dump, from the landed files and the server's remaining logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.errors import SettingsError
from pipeline.source.capture.dump_connection import LAST_POSITION_OF_DUMP
from pipeline.source.capture.errors import AnotherLogError, PurgedError
from pipeline.source.capture.landed_folder import Landed
from pipeline.source.capture.source import LogFile
from pipeline.source.server.log_position import LogPosition, follows, number_of

FIRST = 4
"""Position of a file's first event, after the magic number."""


@dataclass(frozen=True, slots=True)
class DumpStart:
    """Start of a dump, at the event `at`.

    `lost`: the server has purged its log between the end of the landed files and `at`.
    """

    at: LogPosition
    lost: bool = False


def dump_start(
    landed: Landed | None,
    logs: Sequence[LogFile],
    *,
    folder: str,
    first_file: str | None,
    accept_gap: bool,
    large_positions: bool,
) -> DumpStart:
    """Return the event from which the server is to send its log.

    This is the last landed event: if the server still has the same one, its log continues the
    folder's. `logs` are the server's, at least one. `large_positions`: the dump command supports
    positions of 4 GiB and more.

    Raises AnotherLogError if the server's log cannot continue the folder's, PurgedError if files in
    between are gone and not `accept_gap`, and SettingsError if the server has no `first_file`.
    """
    if landed is None:
        return _from_the_beginning(logs, first_file)
    sizes = {log.name: log.size for log in logs}
    end = landed.end
    if end.file in sizes:
        if sizes[end.file] < end.position:
            raise AnotherLogError(
                f"{end.file} has {sizes[end.file]} bytes on the server, but {end.position} bytes"
                " are landed.",
                folder=folder,
            )
        # The position does not fit into four bytes: the whole file is sent again and compared.
        fits = large_positions or landed.last_event <= LAST_POSITION_OF_DUMP
        return DumpStart(LogPosition(end.file, landed.last_event if fits else FIRST))
    return _after_purge(landed, logs[0].name, folder, accept_gap)


def _from_the_beginning(logs: Sequence[LogFile], first_file: str | None) -> DumpStart:
    names = [log.name for log in logs]
    if first_file is not None and first_file not in names:
        raise SettingsError(
            f"the server has no file {first_file}, only {names[0]} to {names[-1]}: it was purged,"
            " or the name is wrong.",
            key="capture.first_file",
            remedy="Name one of these, or omit it to start with the server's first file.",
        )
    return DumpStart(LogPosition(first_file or names[0], FIRST))


def _after_purge(landed: Landed, first: str, folder: str, accept_gap: bool) -> DumpStart:
    """Return the start if the server no longer has the folder's last file; `first` is its first."""
    end = landed.end
    if number_of(first) < number_of(end.file) or first.rpartition(".")[0] != _base(end.file):
        raise AnotherLogError(
            f"the landed log ends at {end}, the server's begins with {first}.", folder=folder
        )
    at = LogPosition(first, FIRST)
    if landed.ended and follows(first, end.file):
        return DumpStart(at)
    if accept_gap:
        return DumpStart(at, lost=True)
    raise PurgedError(file=end.file, position=end.position, first=first, folder=folder)


def _base(name: str) -> str:
    return name.rpartition(".")[0]
