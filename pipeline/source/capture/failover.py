"""Going on from another server: what is landed already, and which of its logs comes next.

Told by GTIDs alone. The logs of a server that takes over (a replica that was promoted, or just
another replica) are landed in a folder of their own, from the last one on before which there is
nothing that is not landed. What of it was landed before is in both folders; bronze tells it by its
GTIDs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.observe import say
from pipeline.source.capture.errors import (
    AnotherLogError,
    MissingGtidsError,
    UnloggedReplicationError,
)
from pipeline.source.capture.landed_folder import LandedFolder
from pipeline.source.capture.landed_gtids import begins_with_gtids, gtids_before, gtids_of
from pipeline.source.capture.log_position import LogPosition
from pipeline.source.capture.source import Identity, LogFile, Source
from pipeline.source.capture.state import CaptureState, Gap, Turn, now
from pipeline.source.gtid_set import NO_GTIDS, GtidSet


@dataclass(frozen=True, slots=True)
class Beginning:
    """The log to begin with. `lost`: what is not landed and in no log that is left."""

    file: str
    lost: GtidSet = NO_GTIDS


def is_another(state: CaptureState, identity: Identity) -> bool:
    """Whether a server is another one than that whose log was landed last.

    MariaDB has no UUID: there the number tells.
    """
    if not state.server_version:
        return False
    if state.server_uuid is None and identity.uuid is None:
        return state.server_id != identity.server_id
    return state.server_uuid != identity.uuid


def landed_gtids(folder: LandedFolder, state: CaptureState) -> GtidSet:
    """Of all whole transactions that are landed, and of those before the first landed file. None
    where the last file has transactions without GTIDs: nothing tells which these are.

    A log tells at its beginning what was before it: of the turn's files, which are in `folder`, no
    more than the last is read, or the one before where that is only begun.
    """
    before = GtidSet.of(*(turn.gtids for turn in state.before[-1:]))
    for name in reversed(folder.names()):
        found = gtids_of(folder.path / name)
        if found is not None:
            return before | found if begins_with_gtids(folder.path / name) else NO_GTIDS
    return before


def taken_over(
    source: Source, state: CaptureState, landed: GtidSet, home: Path, *, accept_lost: bool
) -> CaptureState:
    """The state with which a capture goes on from the server that `source` asks. `landed`: what is
    in the folder `home` and those in it, up to where the state says.

    Raises AnotherLogError where GTIDs do not tell that its log goes on with what is landed,
    MissingGtidsError where something that is not landed is in no log of it, unless that is to be
    accepted, and UnloggedReplicationError where more of that is still to come.
    """
    executed = _executed(source)
    _require_gtids(source, landed, executed, str(home))
    lacking = not_executed(landed, executed)
    chosen = _chosen(source, landed, executed, home, ahead=bool(lacking), accept_lost=accept_lost)
    following = _next_turn(state, source.identity, chosen, landed, lacking)
    _tell(state, following, source)
    return following


def chosen_again(
    source: Source, state: CaptureState, home: Path, *, accept_lost: bool
) -> CaptureState:
    """The state of a turn of which nothing is landed, with the log that is now to begin with: the
    server may have purged the one that was chosen when it took over.

    Raises MissingGtidsError and UnloggedReplicationError as `taken_over` does.
    """
    ended = state.before[-1]
    landed, executed = GtidSet.of(ended.gtids), _executed(source)
    lacking = not_executed(landed, executed)
    chosen = _chosen(source, landed, executed, home, ahead=bool(lacking), accept_lost=accept_lost)
    gap = _gap(ended, chosen, now())
    kept = tuple(known for known in state.gaps if not _is_of_takeover(known, ended))
    if gap is not None:
        told = (known for known in state.gaps if replace(known, noticed=gap.noticed) == gap)
        kept = (*kept, next(told, gap))
    _tell_gaps(kept, state.gaps, source)
    return replace(state, first_file=chosen.file, gaps=kept, lacking=lacking)


def _chosen(
    source: Source,
    landed: GtidSet,
    executed: GtidSet,
    home: Path,
    *,
    ahead: bool,
    accept_lost: bool,
) -> Beginning:
    logs, server_id = source.logs(), source.identity.server_id
    began = gtids_before(LandedFolder(home).first)
    chosen = log_to_begin_with(
        logs, source.previous_gtids, landed, server_id=server_id, ahead=ahead, began=began
    )
    if not source.logs_what_it_replicates():
        if source.is_replica():
            raise UnloggedReplicationError(folder=str(home), server=_named(source))
        chosen = replace(chosen, lost=chosen.lost | _unlogged(source, landed, executed, began))
    if chosen.lost and not accept_lost:
        raise MissingGtidsError(
            gtids=str(chosen.lost), first=logs[0].name, folder=str(home), server=_named(source)
        )
    return chosen


def _executed(source: Source) -> GtidSet:
    """All that a server has, whether or not its logs tell of it."""
    return GtidSet.of(source.end().gtids) | source.replicated_gtids()


def _unlogged(source: Source, landed: GtidSet, executed: GtidSet, began: GtidSet) -> GtidSet:
    """What a server that does not log what it replicates has so, and is not landed."""
    identity = source.identity
    if not identity.version.is_mariadb:
        return of_others(executed - landed, identity.uuid)
    found = source.replicated_gtids() - GtidSet.of(source.end().gtids)
    others = found - found.of_server(identity.server_id)
    return _not_landed(others, landed, began, server_id=identity.server_id, ahead=False)


def of_others(gtids: GtidSet, uuid: str | None) -> GtidSet:
    """MySQL's that another server than that one committed first."""
    others = {s: found for s, found in gtids.intervals.items() if s.partition(":")[0] != uuid}
    return GtidSet(others)


def not_executed(landed: GtidSet, executed: GtidSet) -> str:
    """What is landed and a server has not executed, in words; empty if it has all of it.

    A MariaDB server that was set up from a copy does not know which servers its domains had before:
    of those that it names it must have all, of the others the domain must have come as far.
    """
    named = landed.of_servers_in(executed) | GtidSet(landed.intervals)
    return executed.lacking_of_servers(named) or executed.lacking(landed)


def still_lacking(state: CaptureState, source: Source) -> str:
    """What a server that took over did not have of what was landed, and has not now, in words."""
    if not state.lacking:
        return ""
    return not_executed(GtidSet.of(state.before[-1].gtids), _executed(source))


def log_to_begin_with(
    logs: Sequence[LogFile],
    previous_gtids: Callable[[str], GtidSet | None],
    landed: GtidSet,
    *,
    server_id: int,
    ahead: bool,
    began: GtidSet = NO_GTIDS,
) -> Beginning:
    """The last log before which there is nothing that is not landed.

    `logs` are those of the server `server_id`, in order and at least one; `previous_gtids` tells
    what is before one. `ahead`: whether the server lacks some of what is landed. `began`: what was
    before the first landed file, as far as that is known.
    """

    def missing(log: LogFile) -> GtidSet:
        previous = previous_gtids(log.name) or NO_GTIDS
        return _not_landed(previous, landed, began, server_id=server_id, ahead=ahead)

    for log in reversed(logs):
        if not missing(log):
            return Beginning(log.name)
    lost = missing(logs[0])
    # Nothing more is lost where a later one begins behind no more than that.
    kept = (log.name for log in reversed(logs) if lost.holds(missing(log)))
    return Beginning(next(kept, logs[0].name), lost)


def _not_landed(
    previous: GtidSet, landed: GtidSet, began: GtidSet, *, server_id: int, ahead: bool
) -> GtidSet:
    """What is before a log of a server and is not landed.

    Two servers that write in one MariaDB domain (`gtid_strict_mode=OFF`, or a failover that lost
    something) may use the same numbers. So only of servers that what is landed does not name, and
    that the domain had passed when landing began, is it taken to be there: what is landed first is
    of a server that was set up from a copy. Where that is not known of a domain it must have passed
    it since, and what the server committed itself is not taken to be there; nor is any where the
    server lacks some of what is landed.
    """
    left = previous - landed
    if ahead:
        return left
    passed = left.passed_unnamed_in(landed)
    unknown = passed.outside_domains_of(began)
    return left - passed.no_further_than(began) - (unknown - unknown.of_server(server_id))


def _require_gtids(source: Source, landed: GtidSet, executed: GtidSet, folder: str) -> None:
    """Nothing but GTIDs tells which transactions of two servers are the same."""
    named = _named(source)
    if not source.identity.version.is_mariadb and not source.has_gtids():
        raise AnotherLogError(
            f"{named} is another server than before, and its gtid_mode is not ON: nothing tells"
            " which of its transactions are landed already.",
            folder=folder,
        )
    if not landed:
        raise AnotherLogError(
            f"{named} is another server than before, and what is landed last has no GTIDs: nothing"
            " tells which of its transactions are landed already.",
            folder=folder,
        )
    if not landed & executed:
        raise AnotherLogError(
            f"{named} is another server than before, and shares no transaction with what is"
            " landed.",
            folder=folder,
        )


def _next_turn(
    state: CaptureState, identity: Identity, chosen: Beginning, landed: GtidSet, lacking: str
) -> CaptureState:
    ended = Turn(
        turn=state.turn,
        server_uuid=state.server_uuid,
        server_id=state.server_id,
        server_version=state.server_version,
        first_file=state.first_file,
        file=state.file,
        position=state.position,
        gtids=str(landed),
        ended=now(),
    )
    gap = _gap(ended, chosen, ended.ended)
    return replace(
        state,
        server_uuid=identity.uuid,
        server_id=identity.server_id,
        server_version=identity.version.text,
        first_file=chosen.file,
        file="",
        position=0,
        gtid=None,
        gaps=state.gaps if gap is None else (*state.gaps, gap),
        turn=state.turn + 1,
        before=(*state.before, ended),
        lacking=lacking,
        lag=None,
    )


def _gap(ended: Turn, chosen: Beginning, noticed: str) -> Gap | None:
    if not chosen.lost:
        return None
    end = str(LogPosition(ended.file, ended.position))
    return Gap(end, chosen.file, noticed, str(chosen.lost))


def _is_of_takeover(gap: Gap, ended: Turn) -> bool:
    """Whether it is the one behind that turn, and not one between two files of a server."""
    return bool(gap.gtids) and gap.behind == str(LogPosition(ended.file, ended.position))


def _tell(state: CaptureState, following: CaptureState, source: Source) -> None:
    say(
        "capture_takes_over",
        f"{_named(source)} is another server than before: its log is captured from"
        f" {following.first_file} on, into {following.folder}, behind"
        f" {LogPosition(state.file, state.position)} of the server before.",
        turn=following.turn,
        file=following.first_file,
    )
    if following.lacking:
        say(
            "capture_is_ahead",
            f"{_named(source)} does not have {following.lacking}, which is landed: it has not come"
            " so far, or that was lost with the server before. Until it has it, its new"
            " transactions wait in silver.",
            level=logging.WARNING,
            gtids=following.lacking,
        )
    _tell_gaps(following.gaps, state.gaps, source)


def _tell_gaps(gaps: Sequence[Gap], known: Sequence[Gap], source: Source) -> None:
    for gap in gaps:
        if gap in known:
            continue
        said = f"The logs of {_named(source)} do not have {gap.gtids}, which is not landed."
        say("gap", said, level=logging.WARNING)


def _named(source: Source) -> str:
    identity = source.identity
    return f"the server {identity.uuid or identity.server_id} at {source.address}"
