"""Failover: continue a capture with another server's log, found by GTIDs.

The logs of the new server (a promoted replica, or any other replica) are landed in a folder of
their own, starting with the last one before which everything is landed. Transactions at its start
that were landed before are in both folders; bronze recognizes them by their GTIDs.
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
from pipeline.source.capture.source import Identity, LogFile, SourceQueries
from pipeline.source.capture.state import CaptureState, Gap, Turn, now
from pipeline.source.gtid_set import NO_GTIDS, GtidSet
from pipeline.source.server.log_position import LogPosition


@dataclass(frozen=True, slots=True)
class FirstLog:
    """The log file to begin with. `lost`: GTIDs that are neither landed nor in a remaining log.

    `lacking` describes what is landed but not executed by the server.
    """

    file: str
    lost: GtidSet = NO_GTIDS
    lacking: str = ""


def is_another(state: CaptureState, identity: Identity) -> bool:
    """Return True if the server is not the one whose log was landed last.

    MariaDB has no UUID: there the server id is compared.
    """
    if not state.server_version:
        return False
    if state.server_uuid is None and identity.uuid is None:
        return state.server_id != identity.server_id
    return state.server_uuid != identity.uuid


def landed_gtids(folder: LandedFolder, state: CaptureState) -> GtidSet:
    """Return the GTIDs of all complete landed transactions and of those before the first file.

    Empty if the last file has transactions without GTIDs, which cannot be identified.

    A log file begins with the GTIDs before it: of the turn's files, in `folder`, only the last is
    read, or the one before if that was only just created.
    """
    before = GtidSet.of(*(turn.gtids for turn in state.before[-1:]))
    for name in reversed(folder.names()):
        found = gtids_of(folder.path / name)
        if found is not None:
            return before | found if begins_with_gtids(folder.path / name) else NO_GTIDS
    return before


def state_after_failover(
    source: SourceQueries, state: CaptureState, landed: GtidSet, home: Path, *, accept_lost: bool
) -> CaptureState:
    """Return the state for continuing with the server of `source`.

    `landed`: the GTIDs in the folder `home` and its subfolders, up to the state's position.

    Raises AnotherLogError if GTIDs do not prove that its log continues the landed one,
    MissingGtidsError if none of its logs has some transactions that are not landed, unless
    `accept_lost`, and UnloggedReplicationError if it is a replica that does not log what it
    replicates.
    """
    executed = _executed(source)
    _require_gtids(source, landed, executed, str(home))
    chosen = _chosen(source, landed, executed, home, accept_lost=accept_lost)
    successor = _next_turn(state, source.identity, chosen, landed)
    _log_failover(state, successor, source)
    return successor


def with_first_log(
    source: SourceQueries, state: CaptureState, home: Path, *, accept_lost: bool
) -> CaptureState:
    """Choose the first log again for a turn of which nothing is landed, and return the state.

    The server may have purged the log that was chosen at the failover.
    Raises MissingGtidsError and UnloggedReplicationError as `state_after_failover` does.
    """
    ended = state.before[-1]
    landed = GtidSet.of(ended.gtids)
    chosen = _chosen(source, landed, _executed(source), home, accept_lost=accept_lost)
    gap = _gap(ended, chosen, now())
    kept = tuple(known for known in state.gaps if not _is_of_takeover(known, ended))
    if gap is not None:
        same = (known for known in state.gaps if replace(known, noticed=gap.noticed) == gap)
        kept = (*kept, next(same, gap))
    _log_gaps(kept, state.gaps, source)
    return replace(state, first_file=chosen.file, gaps=kept, lacking=chosen.lacking)


def _chosen(
    source: SourceQueries, landed: GtidSet, executed: GtidSet, home: Path, *, accept_lost: bool
) -> FirstLog:
    lacking = not_executed(landed, executed)
    logs, server_id = source.logs(), source.identity.server_id
    began = gtids_before(LandedFolder(home).first)
    chosen = first_log(
        logs, source.previous_gtids, landed, server_id=server_id, ahead=bool(lacking), began=began
    )
    if not source.logs_what_it_replicates():
        if source.is_replica():
            raise UnloggedReplicationError(folder=str(home), server=_named(source))
        chosen = replace(chosen, lost=chosen.lost | _unlogged(source, landed, executed, began))
    if chosen.lost and not accept_lost:
        raise MissingGtidsError(
            gtids=str(chosen.lost), first=logs[0].name, folder=str(home), server=_named(source)
        )
    return replace(chosen, lacking=lacking)


def _executed(source: SourceQueries) -> GtidSet:
    """Return the GTIDs of everything that a server has executed, even if it did not log it."""
    return GtidSet.of(source.end().gtids) | source.replicated_gtids()


def _unlogged(source: SourceQueries, landed: GtidSet, executed: GtidSet, began: GtidSet) -> GtidSet:
    """Return what a server has replicated without logging it, and is not landed."""
    identity = source.identity
    if not identity.version.is_mariadb:
        return of_others(executed - landed, identity.uuid)
    found = source.replicated_gtids() - GtidSet.of(source.end().gtids)
    others = found - found.of_server(identity.server_id)
    return _not_landed(others, landed, began, server_id=identity.server_id, ahead=False)


def of_others(gtids: GtidSet, uuid: str | None) -> GtidSet:
    """Return MySQL's GTIDs of all servers but `uuid`."""
    others = {s: found for s, found in gtids.intervals.items() if s.partition(":")[0] != uuid}
    return GtidSet(others)


def not_executed(landed: GtidSet, executed: GtidSet) -> str:
    """Describe what is landed but not executed by a server; empty if it has executed all of it.

    A MariaDB server restored from a backup does not know which servers wrote to its domains before:
    of servers that it knows it must have everything, of others its domain must have got as far.
    """
    named = landed.restricted_to_servers_of(executed) | GtidSet(landed.intervals)
    return executed.missing_by_server(named) or executed.lacking(landed)


def still_lacking(state: CaptureState, source: SourceQueries) -> str:
    """Describe what the current server still lacks of what was landed before the failover."""
    if not state.lacking:
        return ""
    return not_executed(GtidSet.of(state.before[-1].gtids), _executed(source))


def first_log(
    logs: Sequence[LogFile],
    previous_gtids: Callable[[str], GtidSet | None],
    landed: GtidSet,
    *,
    server_id: int,
    ahead: bool,
    began: GtidSet = NO_GTIDS,
) -> FirstLog:
    """Return the last log before which everything is landed.

    `logs` are those of the server `server_id`, in order and not empty; `previous_gtids` returns the
    GTIDs before a log. `ahead`: the server lacks some of what is landed. `began`: the GTIDs before
    the first landed file, as far as known.
    """

    def missing(log: LogFile) -> GtidSet:
        previous = previous_gtids(log.name) or NO_GTIDS
        return _not_landed(previous, landed, began, server_id=server_id, ahead=ahead)

    for log in reversed(logs):
        if not missing(log):
            return FirstLog(log.name)
    lost = missing(logs[0])
    # Begin with the last log before which no more than that is lost.
    kept = (log.name for log in reversed(logs) if lost.holds(missing(log)))
    return FirstLog(next(kept, logs[0].name), lost)


def _not_landed(
    previous: GtidSet, landed: GtidSet, began: GtidSet, *, server_id: int, ahead: bool
) -> GtidSet:
    """Return the GTIDs before a log of a server that are not landed.

    Two servers that write to one MariaDB domain (`gtid_strict_mode=OFF`, or a failover that lost
    transactions) may use the same numbers. So a number of a server that the landed logs do not name
    only counts as landed if its domain had passed it when landing began: the first landed server
    may have been restored from a backup. If that is unknown for a domain, the domain must have
    passed it since, and numbers of the server's own never count as landed. Nor do any if the server
    lacks some of what is landed (`ahead`).
    """
    left = previous - landed
    if ahead:
        return left
    passed = left.passed_unnamed_in(landed)
    unknown = passed.outside_domains_of(began)
    return left - passed.no_further_than(began) - (unknown - unknown.of_server(server_id))


def _require_gtids(source: SourceQueries, landed: GtidSet, executed: GtidSet, folder: str) -> None:
    """Raise AnotherLogError unless GTIDs identify the transactions that both servers have."""
    unknown = "which of its transactions are already landed cannot be determined."
    if not source.identity.version.is_mariadb and not source.has_gtids():
        reason = f"and its gtid_mode is not ON: {unknown}"
    elif not landed:
        reason = f"and the last landed file has no GTIDs: {unknown}"
    elif not landed & executed:
        reason = "and shares no transaction with the landed log."
    else:
        return
    message = f"{_named(source)} is not the previous server, {reason}"
    raise AnotherLogError(message, folder=folder)


def _next_turn(
    state: CaptureState, identity: Identity, chosen: FirstLog, landed: GtidSet
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
        lacking=chosen.lacking,
        lag=None,
    )


def _gap(ended: Turn, chosen: FirstLog, noticed: str) -> Gap | None:
    if not chosen.lost:
        return None
    end = str(LogPosition(ended.file, ended.position))
    return Gap(end, chosen.file, noticed, str(chosen.lost))


def _is_of_takeover(gap: Gap, ended: Turn) -> bool:
    """Return True if the gap follows that turn, and is not between two files of one server."""
    return bool(gap.gtids) and gap.after == str(LogPosition(ended.file, ended.position))


def _log_failover(state: CaptureState, successor: CaptureState, source: SourceQueries) -> None:
    say(
        "capture_takes_over",
        f"{_named(source)} is not the previous server: its log is captured from"
        f" {successor.first_file} on, into {successor.folder}, after"
        f" {LogPosition(state.file, state.position)} of the previous server.",
        turn=successor.turn,
        file=successor.first_file,
    )
    if successor.lacking:
        say(
            "capture_is_ahead",
            f"{_named(source)} does not have {successor.lacking}, which is landed: it lags, or"
            " these transactions were lost with the previous server. Until it has them, its new"
            " transactions wait in silver.",
            level=logging.WARNING,
            gtids=successor.lacking,
        )
    _log_gaps(successor.gaps, state.gaps, source)


def _log_gaps(gaps: Sequence[Gap], known: Sequence[Gap], source: SourceQueries) -> None:
    for gap in gaps:
        if gap in known:
            continue
        lacking = f"The logs of {_named(source)} do not contain {gap.gtids}, which is not landed."
        say("gap", f"{lacking} {gap.REMEDY}", level=logging.WARNING)


def _named(source: SourceQueries) -> str:
    identity = source.identity
    return f"the server {identity.uuid or identity.server_id} at {source.address}"
