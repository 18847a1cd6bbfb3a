"""Where a dump begins: what the folder holds, set against what the server still has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.errors import SettingsError
from pipeline.source.capture.errors import AnotherLogError, PurgedError
from pipeline.source.capture.landed_folder import Landed
from pipeline.source.capture.log_position import LogPosition, follows, number_of
from pipeline.source.capture.replica_commands import LAST_POSITION_OF_DUMP
from pipeline.source.capture.source import LogFile

FIRST = 4
"""The position of a file's first event, behind the magic number."""


@dataclass(frozen=True, slots=True)
class Start:
    """`at`: the event to begin with. `lost`: what is between the folder's end and it is gone."""

    at: LogPosition
    lost: bool = False


def where_to_begin(
    landed: Landed | None,
    logs: Sequence[LogFile],
    *,
    folder: str,
    first_file: str | None,
    go_on_behind_gap: bool,
    far: bool,
) -> Start:
    """The event from which on the server is to send.

    It is the last one that is landed, which the server must still have just so: by that its log is
    known to be the folder's. `logs` are the server's, at least one. `far`: whether it takes
    positions from 4 GiB on.

    Raises AnotherLogError where it cannot be, PurgedError where files in between are gone, and
    SettingsError where the server has no `first_file`.
    """
    if landed is None:
        return _from_the_beginning(logs, first_file)
    sizes = {log.name: log.size for log in logs}
    end = landed.end
    if end.file in sizes:
        if sizes[end.file] < end.position:
            raise AnotherLogError(
                f"{end.file} has {sizes[end.file]} bytes at the server, and {end.position} here.",
                folder=folder,
            )
        # Four bytes do not hold a later position: the file is sent, and compared, from its start.
        near = far or landed.last_event <= LAST_POSITION_OF_DUMP
        return Start(LogPosition(end.file, landed.last_event if near else FIRST))
    return _behind_purged(landed, logs[0].name, folder, go_on_behind_gap)


def _from_the_beginning(logs: Sequence[LogFile], first_file: str | None) -> Start:
    names = [log.name for log in logs]
    if first_file is not None and first_file not in names:
        raise SettingsError(
            f"the server has no {first_file}, but {names[0]} to {names[-1]}: it was purged, or is"
            " misspelt.",
            key="capture.first_file",
            remedy="Name one of these, or leave it out to begin with the server's first.",
        )
    return Start(LogPosition(first_file or names[0], FIRST))


def _behind_purged(landed: Landed, first: str, folder: str, go_on_behind_gap: bool) -> Start:
    """The folder's last file is not at the server any more, whose first one is `first`."""
    end = landed.end
    if number_of(first) < number_of(end.file) or first.rpartition(".")[0] != _base(end.file):
        raise AnotherLogError(
            f"it ends at {end}, and the server's log begins with {first}.", folder=folder
        )
    at = LogPosition(first, FIRST)
    if landed.ended and follows(first, end.file):
        return Start(at)
    if go_on_behind_gap:
        return Start(at, lost=True)
    raise PurgedError(file=end.file, position=end.position, first=first, folder=folder)


def _base(name: str) -> str:
    return name.rpartition(".")[0]
