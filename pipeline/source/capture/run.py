"""A capture: a thread reads the server's log, this one lands it, and it connects anew as needed.

Between the two is a queue that is bounded by bytes. When the disk is slow it fills, the reader
waits, and so do TCP and the server: memory stays flat. What is durable moves on only over whole
events; whatever happens in between is sent again, and compared with what is there.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pipeline.errors import BinlakeError, SettingsError, sentence_of
from pipeline.observe import Progress, redact, say
from pipeline.observe.progress import QuietProgress, Task
from pipeline.settings.capture import CaptureSettings
from pipeline.source.capture.backoff import Backoff, most_tries
from pipeline.source.capture.byte_queue import ByteQueue
from pipeline.source.capture.checkpoints import Checkpoints, bytes_behind
from pipeline.source.capture.destination import place_of
from pipeline.source.capture.dump_connection import DumpConnection
from pipeline.source.capture.dump_items import FileNamed, Heartbeat, LogBytes, LogEnded, Received
from pipeline.source.capture.errors import (
    BrokenDumpError,
    DumpRefusedError,
    LostConnectionError,
    NotLandedError,
    SameIdentityError,
)
from pipeline.source.capture.failover import (
    chosen_again,
    is_another,
    landed_gtids,
    still_lacking,
    taken_over,
)
from pipeline.source.capture.kept_tables import KeptTables, Wanted
from pipeline.source.capture.landed_file import Writes
from pipeline.source.capture.landed_folder import Landed, LandedFolder, alone_in
from pipeline.source.capture.log_position import LogPosition
from pipeline.source.capture.reader import read_into
from pipeline.source.capture.source import Identity, Source
from pipeline.source.capture.start import FIRST, Start, where_to_begin
from pipeline.source.capture.state import STATE, CaptureState, Gap, Replica, now, read_state
from pipeline.source.server.errors import ServerUnreachableError
from pipeline.source.server.login import Login
from pipeline.source.server.opening import NAP, Stop
from pipeline.source.server.refusals import SAME_IDENTITY

_INTERRUPTED = (LostConnectionError, ServerUnreachableError, BrokenDumpError)
"""What comes of a connection that is interrupted."""


class Capture:
    """Lands the log of the server that `login` leads to, as the settings say.

    `run` may be called once; `stop` ends it from another thread or a signal's handler, with what is
    landed made durable. `wanted` are the tables whose definitions are kept (None: all); `write`
    stands for the disk.
    """

    def __init__(
        self,
        settings: CaptureSettings,
        login: Login,
        progress: Progress | None = None,
        *,
        wanted: Wanted | None = None,
        write: Writes = os.pwrite,
    ) -> None:
        self.settings = settings
        self.most_queued = 0
        """The most bytes that waited to be written."""
        self._login = login
        self._progress = progress or QuietProgress()
        self._path, self._published = place_of(settings)
        self._tables = KeptTables(login, self._path, wanted)
        self._write = write
        self._folder = LandedFolder(self._path, write=write)
        self._backoff = Backoff(settings.retry.longest)
        self._refusals = 0
        self._stop = Stop()
        self._gap = False
        self._caught_up = False
        self._from_first = False
        self._asked = False
        self._target: LogPosition | None = None

    def run(self) -> CaptureState:
        """Until it has caught up or is stopped: the state then.

        Raises BinlakeError for what cannot be gone on from; one whose `retryable` is set after as
        many tries as the settings allow.
        """
        with alone_in(self._path):
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
        """Let it end, at a durable position: no answer of the server is waited for any more."""
        self._stop.now()

    def _done(self) -> bool:
        return self._stop.wanted or self._caught_up

    def _wait_after(self, error: BinlakeError) -> None:
        """Wait before connecting anew; raises the error where that is of no use."""
        self._caught_up = False  # what the error kept from being durable is not
        if self._stop.wanted:
            if isinstance(error, _INTERRUPTED):
                return
            raise error
        # Counted apart: a server that was down for long may refuse its first dump.
        refused = isinstance(error, DumpRefusedError | BrokenDumpError)
        self._refusals += refused
        tries = self._refusals if refused else self._backoff.tries + 1
        most = most_tries(error, self.settings)
        if most is not None and tries >= most:
            raise error
        # A position inside of an event may be that of another log: all of the file is compared.
        self._from_first = refused
        seconds = self._backoff.next()
        self._checkpoints.lost(redact(sentence_of(error)))
        say("capture_reconnects", f"{error} Connecting anew in {seconds:.1f} s.", tries=tries)
        self._rest(seconds)

    def _rest(self, seconds: float) -> None:
        """Do nothing for so long, or until it is stopped."""
        until = time.monotonic() + seconds
        while not self._stop.wanted and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, NAP))

    def _folder_of(self, state: CaptureState) -> LandedFolder:
        """Where the server's log is landed: each that takes over has a folder of its own."""
        path = self._path / state.folder
        path.mkdir(exist_ok=True)
        return LandedFolder(path, write=self._write)

    def _take_over(self, source: Source) -> None:
        """Go on with another server's log. Raises what `taken_over` raises."""
        state = self._checkpoints.end_turn()
        held = landed_gtids(self._folder, state)
        lost = self.settings.purged == "continue"
        following = taken_over(source, state, held, self._path, accept_lost=lost)
        self._folder = self._folder_of(following)
        self._checkpoints.go_on_in(self._folder, following)

    def _forget_where_nothing_is_landed(self) -> None:
        """A capture that never came so far may be of whichever server answers."""
        state = self._checkpoints.state
        if state.before or state.position:
            return
        if self._folder.recover(state.durable, own=bool(state.first_file)) is not None:
            return
        self._checkpoints.state = replace(state, server_version="", first_file="")

    def _looked_at_again(
        self, source: Source, state: CaptureState, landed: Landed | None
    ) -> CaptureState:
        """What of a server that took over may be different since: whether it has all that is
        landed, and, as long as nothing of its log is, where that is to begin."""
        if landed is None and state.before:
            lost = self.settings.purged == "continue"
            state = chosen_again(source, state, self._path, accept_lost=lost)
        else:
            state = replace(state, lacking=still_lacking(state, source))
        self._checkpoints.state = state
        return state

    def _connect_and_follow(self) -> None:
        with closing(Source(self._login, self._stop)) as source:
            self._forget_where_nothing_is_landed()
            if is_another(self._checkpoints.state, source.identity):
                self._take_over(source)
            replica = self._known_as(source.identity)
            state = self._checkpoints.state
            landed = self._folder.recover(state.durable, own=bool(state.first_file))
            state = self._looked_at_again(source, state, landed)
            self._tables.keep(source.identity, self._stop)
            logs, end, gtids = source.logs(), source.end(), source.has_gtids()
            start = where_to_begin(
                landed,
                logs,
                folder=str(self._path),
                first_file=state.first_file if state.before else self.settings.first_file,
                go_on_behind_gap=self.settings.purged == "continue",
                far=gtids,
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
            behind = bytes_behind(logs, landed.end if landed else start.at)
            try:
                with self._progress.task("capture", behind, "bytes") as task:
                    self._follow(source, dump, landed, end.position, task)
            finally:
                dump.close()
                self._asked = False

    def _known_as(self, identity: Identity) -> Replica:
        """Who the capture is to this server. Raises SettingsError where that is the server."""
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

    def _begin_at(self, start: Start, landed: Landed | None) -> None:
        """The state says whose log this is, before the first byte, and not before the server's log
        has been seen to be the folder's: what it says lets a later run cut files off."""
        state = self._checkpoints.state
        if not state.first_file:
            first = next(iter(self._folder.names()), start.at.file)
            # Files that were put here by hand are there as a whole.
            end = landed.end if landed else LogPosition("", 0)
            state = replace(state, first_file=first, file=end.file, position=end.position)
            self._checkpoints.state = state
        self._checkpoints.write()
        if landed is not None and start.at.file != landed.end.file:
            self._folder.close_recovered(landed.end.file)

    def _note_gap(self, landed: Landed, start: Start) -> None:
        gap = Gap(str(landed.end), start.at.file, now())
        state = self._checkpoints.state
        if gap.behind not in {known.behind for known in state.gaps}:
            self._checkpoints.state = replace(state, gaps=(*state.gaps, gap))
            self._checkpoints.write()  # what is landed behind it would hide it from a later run
            say("gap", f"The server has purged what is between {gap.behind} and {gap.first}.")
        self._gap = True

    def _follow(
        self,
        source: Source,
        dump: DumpConnection,
        landed: Landed | None,
        target: LogPosition,
        task: Task,
    ) -> None:
        """Land what the server sends, until it is at `target` where the capture is not for ever."""
        self._target = target
        queue: ByteQueue[Received] = ByteQueue(int(self.settings.queue))
        reader = threading.Thread(
            target=read_into, args=(dump, queue), name="binlog dump", daemon=True
        )
        say(
            "capture_follows",
            f"Capturing {self._login.address} into {self._path}, behind"
            f" {landed.end if landed else 'nothing'}; the server's log ends at {target}.",
        )
        reader.start()
        try:
            while not self._done():
                item = queue.get(self._checkpoints.seconds_left or self.settings.checkpoint.seconds)
                if item is not None:
                    _WAYS[type(item)](self, item, dump, queue, source, task)
                # One for all that is there: the server waits for the last of them.
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
            self.most_queued = max(self.most_queued, queue.most)
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
        return end >= target

    def _checkpoint(self, source: Source, dump: DumpConnection) -> None:
        self._make_durable(dump, final=False)
        if not self._stop.wanted:
            self._checkpoints.ask(source)

    def _make_durable(self, dump: DumpConnection, *, final: bool) -> None:
        """First of all, and without a word to the server, which may not answer."""
        end = self._checkpoints.make()
        self._asked = False
        if end is not None:
            dump.acknowledge(end)
        self._checkpoints.publish(final=final)

    def _on_file(self, item: FileNamed, *_: Any) -> None:
        self._folder.begin(item.file, item.position, gap=self._gap)
        self._gap = False

    def _on_bytes(
        self,
        item: LogBytes,
        dump: DumpConnection,
        queue: ByteQueue[Received],
        source: Source,
        task: Task,
    ) -> None:
        new = self._folder.land(item.data, item.position, whole=item.whole, ended=item.ended)
        self._checkpoints.count(item, new)
        if new:
            self._progressed()
            task.advance(new)
        self._asked = self._asked or item.asked

    def _on_heartbeat(
        self, item: Heartbeat, dump: DumpConnection, queue: object, source: Source, task: Task
    ) -> None:
        self._progressed()
        self._checkpoint(source, dump)

    def _progressed(self) -> None:
        """New bytes, or a server with nothing to send. Events that are sent again are none: where
        a dump is broken at the same place each time, they come before it each time."""
        self._backoff.progress()
        self._refusals = 0

    def _on_end(self, item: LogEnded, *_: Any) -> None:
        """A server that is shut down, or that kills the dump, ends it just like one that has sent
        all it has."""
        if not self._reached():
            raise LostConnectionError("the server ended the dump.")


_WAYS: Mapping[type, Callable[..., None]] = MappingProxyType(
    {
        FileNamed: Capture._on_file,
        LogBytes: Capture._on_bytes,
        Heartbeat: Capture._on_heartbeat,
        LogEnded: Capture._on_end,
    }
)
