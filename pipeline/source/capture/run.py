"""A capture: one thread receives the server's log, this one lands it and reconnects as needed.

Between the two is a queue that is bounded by bytes. If the disk is slow it fills up, the receiver
waits, and so do TCP and the server: memory stays constant. The durable position only moves past
whole events; after a failure, later bytes are sent again and compared with the landed ones.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import closing
from dataclasses import replace

from decoder.model import TableFilter
from pipeline.errors import BinlakeError, SettingsError, sentence_of
from pipeline.observe import Progress, redact, say
from pipeline.observe.progress import QuietProgress, Task
from pipeline.settings.capture import CaptureSettings
from pipeline.source.capture.backoff import Backoff, most_tries
from pipeline.source.capture.checkpoints import Checkpoints, bytes_after
from pipeline.source.capture.dump_connection import DumpConnection
from pipeline.source.capture.dump_items import FileNamed, Heartbeat, LogBytes, LogEnded, Received
from pipeline.source.capture.dump_start import FIRST, DumpStart, dump_start
from pipeline.source.capture.errors import (
    BrokenDumpError,
    DumpRefusedError,
    LostConnectionError,
    NotLandedError,
    SameIdentityError,
)
from pipeline.source.capture.failover import (
    is_another,
    landed_gtids,
    state_after_failover,
    still_lacking,
    with_first_log,
)
from pipeline.source.capture.kept_tables import KeptTables
from pipeline.source.capture.landed_folder import (
    Landed,
    LandedFolder,
    Writes,
    exclusive_folder,
)
from pipeline.source.capture.object_store import place_of
from pipeline.source.capture.reader import ByteQueue, read_into
from pipeline.source.capture.source import Identity, SourceQueries
from pipeline.source.capture.state import STATE, CaptureState, Gap, Replica, now, read_state
from pipeline.source.server.connect_timeout import StopOpening
from pipeline.source.server.errors import ServerUnreachableError
from pipeline.source.server.log_position import LogPosition
from pipeline.source.server.login import Login
from pipeline.source.server.refusals import SAME_IDENTITY

_INTERRUPTED = (LostConnectionError, ServerUnreachableError, BrokenDumpError)
"""Errors of an interrupted connection."""


class Capture:
    """Capture of the log of the server at `login`, as the settings say.

    `run` may be called once; `stop` ends it from another thread or a signal handler, after making
    landed bytes durable. `wanted` selects the tables whose definitions are kept (None: all);
    `write` replaces `os.pwrite` in tests.
    """

    def __init__(
        self,
        settings: CaptureSettings,
        login: Login,
        progress: Progress | None = None,
        *,
        wanted: TableFilter | None = None,
        write: Writes = os.pwrite,
    ) -> None:
        self.settings = settings
        self.queue_high_water = 0
        """High-water mark of the queue in bytes."""
        self.follows = False
        """True while the server sends new events or heartbeats; False while it is unreachable."""
        self.interrupted_by: BinlakeError | None = None
        """The last error after which it reconnects; None while what the server sends is landed."""
        self.interrupted_at = 0.0
        """When the first of these errors was, in seconds of `time.monotonic`."""
        self._login = login
        self._progress = progress or QuietProgress()
        self._accepts_gaps = settings.purged == "continue"
        self._path, self._published = place_of(settings)
        self._tables = KeptTables(login, self._path, wanted)
        self._write = write
        self._folder = LandedFolder(self._path, write=write)
        self._backoff = Backoff(settings.retry.longest)
        self._refusals = 0
        self._stop = StopOpening()
        self._gap = False
        self._caught_up = False
        self._from_first = False
        self._asked = False
        self._target: LogPosition | None = None

    def run(self) -> CaptureState:
        """Capture until it has caught up or is stopped, and return the state.

        Raises BinlakeError if it cannot continue; a retryable one after as many tries as the
        settings allow.
        """
        with exclusive_folder(self._path):
            if self._published is not None:
                self._published.restore(self._path)
            known = read_state(self._path) or CaptureState(Replica.new())
            self._folder = self._folder_of(known)
            self._checkpoints = Checkpoints(
                self._folder,
                replace(known, started=now()),
                self.settings.checkpoint,
                self._published,
                home=self._path,
            )
            try:
                while not self._done():
                    try:
                        self._connect_and_follow()
                    except BinlakeError as error:
                        self._wait_after(error)
            except OSError as error:
                reason = error.strerror or str(error)
                raise NotLandedError(reason, folder=str(self._path)) from error
            finally:
                self._folder.leave()
        return self._checkpoints.state

    def stop(self) -> None:
        """Stop at a durable position, without waiting for the server."""
        self._stop.now()

    def _done(self) -> bool:
        return self._stop.wanted or self._caught_up

    def _wait_after(self, error: BinlakeError) -> None:
        """Wait before reconnecting; raise the error if a retry is pointless."""
        self.follows = False
        self._caught_up = False  # because of the error, not everything is durable
        if self._stop.wanted:
            if isinstance(error, _INTERRUPTED):
                return
            raise error
        # Counted separately: a server that was down for long may refuse the first dump.
        refused = isinstance(error, DumpRefusedError | BrokenDumpError)
        self._refusals += refused
        tries = self._refusals if refused else self._backoff.tries + 1
        most = most_tries(error, self.settings)
        if most is not None and tries >= most:
            raise error
        # If the position is within an event, the log may be another one: compare the whole file.
        self._from_first = refused
        if self.interrupted_by is None:
            self.interrupted_at = time.monotonic()
        self.interrupted_by = error
        seconds = self._backoff.next()
        self._checkpoints.lost(redact(sentence_of(error)))
        say("capture_reconnects", f"{error} Reconnecting in {seconds:.1f} s.", tries=tries)
        self._stop.rest(seconds)

    def _folder_of(self, state: CaptureState) -> LandedFolder:
        """Return the folder of the current turn; after a failover it is a subfolder."""
        path = self._path / state.folder
        path.mkdir(exist_ok=True)
        return LandedFolder(path, write=self._write)

    def _take_over(self, source: SourceQueries) -> None:
        """Continue with another server's log. Raises what `state_after_failover` raises."""
        state = self._checkpoints.end_turn()
        landed = landed_gtids(self._folder, state)
        following = state_after_failover(
            source, state, landed, self._path, accept_lost=self._accepts_gaps
        )
        self._folder = self._folder_of(following)
        self._checkpoints.continue_in(self._folder, following)

    def _forget_server_if_nothing_is_landed(self) -> None:
        """Clear the state's server if nothing was landed: any server may then answer."""
        state = self._checkpoints.state
        if state.before or state.position:
            return
        if self._folder.recover(state.durable, own=bool(state.first_file)) is not None:
            return
        self._checkpoints.state = replace(state, server_version="", first_file="")

    def _refreshed(
        self, source: SourceQueries, state: CaptureState, landed: Landed | None
    ) -> CaptureState:
        """After a failover, update what the server lacks and, if nothing landed, the first file."""
        if landed is None and state.before:
            state = with_first_log(source, state, self._path, accept_lost=self._accepts_gaps)
        else:
            state = replace(state, lacking=still_lacking(state, source))
        self._checkpoints.state = state
        return state

    def _connect_and_follow(self) -> None:
        with closing(SourceQueries(self._login, self._stop)) as source:
            self._forget_server_if_nothing_is_landed()
            if is_another(self._checkpoints.state, source.identity):
                self._take_over(source)
            replica = self._known_as(source.identity)
            state = self._checkpoints.state
            landed = self._folder.recover(state.durable, own=bool(state.first_file))
            state = self._refreshed(source, state, landed)
            self._tables.keep(source.identity, self._stop)
            logs, end, gtids = source.logs(), source.end(), source.has_gtids()
            start = dump_start(
                landed,
                logs,
                folder=str(self._path),
                first_file=state.first_file if state.before else self.settings.first_file,
                accept_gap=self._accepts_gaps,
                large_positions=gtids,
            )
            if self._from_first:
                start = replace(start, at=LogPosition(start.at.file, FIRST))
            self._begin_at(start, landed)
            if start.lost and landed is not None:
                self._note_gap(landed, start)
            semi_sync = self.settings.semi_sync and source.is_semi_sync()
            source.require_another_connection()
            dump = DumpConnection(
                self._login,
                replica,
                start.at,
                server=source.identity,
                wait=self.settings.forever,
                gtids=gtids,
                semi_sync=semi_sync,
                stop=self._stop,
            )
            remaining = bytes_after(logs, landed.end if landed else start.at)
            try:
                with self._progress.task("capturing the log", remaining, "bytes") as task:
                    self._follow(source, dump, landed, end.position, task)
            finally:
                dump.close()
                self._asked = False

    def _known_as(self, identity: Identity) -> Replica:
        """Return the capture's replica identity. Raises SettingsError if the server has its id."""
        state = self._checkpoints.state
        replica = state.replica
        if self.settings.server_id is not None:
            replica = replace(replica, server_id=self.settings.server_id)
        if replica.server_id == identity.server_id:
            raise SettingsError(
                f"{replica.server_id} is the server's own server_id.",
                key="capture.server_id",
                remedy="Give one that no server and no other replica has.",
            )
        self._checkpoints.state = replace(
            state,
            replica=replica,
            server_uuid=identity.uuid,
            server_id=identity.server_id,
            server_version=identity.version.text,
        )
        return replica

    def _begin_at(self, start: DumpStart, landed: Landed | None) -> None:
        """Write into the state whose log this is.

        This happens before the first byte is landed, but only once the server's log is known to
        continue the folder's: the state allows later runs to truncate files.
        """
        state = self._checkpoints.state
        if not state.first_file:
            first = next(iter(self._folder.names()), start.at.file)
            # Files that were copied here by hand are complete.
            end = landed.end if landed else LogPosition("", 0)
            state = replace(state, first_file=first, file=end.file, position=end.position)
            self._checkpoints.state = state
        self._checkpoints.write()
        if landed is not None and start.at.file != landed.end.file:
            self._folder.close_recovered(landed.end.file)

    def _note_gap(self, landed: Landed, start: DumpStart) -> None:
        gap = Gap(str(landed.end), start.at.file, now())
        state = self._checkpoints.state
        if gap.after not in {known.after for known in state.gaps}:
            self._checkpoints.state = replace(state, gaps=(*state.gaps, gap))
            self._checkpoints.write()  # once more is landed, a later run cannot detect the gap
            purged = f"The server has purged its log between {gap.after} and {gap.first}."
            say("gap", f"{purged} {gap.REMEDY}", level=logging.WARNING)
        self._gap = True

    def _follow(
        self,
        source: SourceQueries,
        dump: DumpConnection,
        landed: Landed | None,
        target: LogPosition,
        task: Task,
    ) -> None:
        """Land what the server sends; up to `target` unless the capture is to run forever."""
        self._target = target
        queue: ByteQueue[Received] = ByteQueue(int(self.settings.queue))
        reader = threading.Thread(
            target=read_into, args=(dump, queue), name="binlog dump", daemon=True
        )
        say(
            "capture_follows",
            f"Capturing {self._login.address} into {self._path}, starting after"
            f" {landed.end if landed else 'nothing'}; the server's log ends at {target}.",
        )
        reader.start()
        try:
            while not self._done():
                item = queue.get(self._checkpoints.seconds_left or self.settings.checkpoint.seconds)
                if item is not None:
                    self._take(item, source, dump, task)
                # One checkpoint for everything queued: the server waits for the last event.
                if self._checkpoints.due or (self._asked and queue.empty):
                    self._checkpoint(source, dump)
                self._caught_up = self._caught_up or self._reached()
        except EOFError:
            raise LostConnectionError("the server ended the dump.") from None
        except DumpRefusedError as error:
            if SAME_IDENTITY.search(error.message):
                raise SameIdentityError(folder=str(self._path), state=STATE) from error
            raise
        finally:
            self.queue_high_water = max(self.queue_high_water, queue.most)
            queue.close()
            dump.interrupt()
            reader.join()
            self._make_durable(dump, final=True)
        if self._caught_up:
            self._checkpoints.ask(source, final=True)

    def _reached(self) -> bool:
        end, target = self._folder.end, self._target
        if self.settings.forever or end is None or target is None:
            return False
        return end.rank >= target.rank

    def _checkpoint(self, source: SourceQueries, dump: DumpConnection) -> None:
        self._make_durable(dump, final=False)
        if self.follows:
            self.interrupted_by = None
        if not self._stop.wanted:
            self._checkpoints.ask(source)

    def _make_durable(self, dump: DumpConnection, *, final: bool) -> None:
        """Make landed bytes durable, acknowledge and upload them, without querying the server."""
        end = self._checkpoints.make()
        self._asked = False
        if end is not None:
            dump.acknowledge(end)
        self._checkpoints.publish(final=final)

    def _take(
        self, item: Received, source: SourceQueries, dump: DumpConnection, task: Task
    ) -> None:
        match item:
            case FileNamed():
                self._folder.begin(item.file, item.position, gap=self._gap)
                self._gap = False
            case LogBytes():
                self._land(item, task)
            case Heartbeat():
                self._progressed()
                self._checkpoint(source, dump)
            case LogEnded():
                self._require_all()

    def _land(self, item: LogBytes, task: Task) -> None:
        new = self._folder.land(item.data, item.position, whole=item.whole, ended=item.ended)
        self._checkpoints.count(item, new)
        if new:
            self._progressed()
            task.advance(new)
        self._asked = self._asked or item.asked

    def _progressed(self) -> None:
        """Record progress: new bytes, or a heartbeat.

        Events sent again do not count: they precede the same broken position each time.
        """
        self._backoff.progress()
        self._refusals = 0
        self.follows = True

    def _require_all(self) -> None:
        """Raise LostConnectionError unless everything was sent.

        A server that shuts down or kills the dump ends it in the same way.
        """
        if not self._reached():
            raise LostConnectionError("the server ended the dump.")
