"""Landed files in an object store, which cannot append: whole objects, put anew as files grow.

The folder on the local disk, the spool, is where a capture lands and goes on from; the store gets a
file when it is closed, and the one under way now and then. An object appears as a whole or not at
all, so who reads the store sees files as the server had them at some time. A closed file leaves the
spool once it is in the store. Where the spool is lost, it is made from the store's last file.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.lake.stores import filesystem_of, said_by
from pipeline.settings.capture import PublishSettings
from pipeline.source.capture.errors import AnotherLogError, CaptureError, NotLandedError
from pipeline.source.capture.landed_gtids import tells_what_is_before
from pipeline.source.capture.log_position import is_log_name, number_of
from pipeline.source.capture.state import STATE, CaptureState, read_state, write_state
from pipeline.source.logs.kept_statements import BESIDE_LOGS
from pipeline.source.logs.server_folders import FIRST_TURN

_PART = 16 << 20
"""Bytes of an object that are sent at a time, and held."""


class Published:
    """What of a spool is in the store at `location`."""

    def __init__(self, location: str, settings: PublishSettings) -> None:
        self.location = location.rstrip("/")
        self._settings = settings
        self._files, path = filesystem_of(location, key="capture.to")
        self._path = str(path).rstrip("/")
        self._last = time.monotonic()
        self._closed: set[str] = set()
        self._under_way = ("", 0)
        self._tables = 0

    def restore(self, spool: Path) -> None:
        """Give a spool that has less than the store what it needs to go on from there.

        Raises NotLandedError where the store cannot be read, AnotherLogError where what is in it is
        not of this spool's capture.
        """
        with self._sentences():
            self._files.invalidate_cache()
            self._restore_logs(spool)
            self._restore_tables(spool)

    def _restore_logs(self, spool: Path) -> None:
        own, stored = read_state(spool), self._stored_state(spool)
        if own is not None and stored is not None and own.turn > stored.turn:
            self._require_same_capture(own, stored, spool)
            return
        folder = stored.folder if stored is not None else ""
        found = self._logs(folder)
        if found:
            self._restore_from(found, stored, spool)
        elif stored is not None and stored.turn > (own.turn if own else FIRST_TURN):
            # A server had just taken over: the state comes first.
            write_state(spool, replace(stored, file="", position=0))

    def _restore_tables(self, spool: Path) -> None:
        """Fetch the tables' definitions, which a new reading is added to."""
        if not (spool / BESIDE_LOGS).exists() and self._files.exists(f"{self._path}/{BESIDE_LOGS}"):
            self._fetch(BESIDE_LOGS, spool).replace(spool / BESIDE_LOGS)

    def _restore_from(
        self, found: Mapping[str, int], stored: CaptureState | None, spool: Path
    ) -> None:
        """Go on from the last of the store's files, unless the spool has more of the same turn."""
        last = max(found, key=number_of)
        folder = spool / (stored.folder if stored is not None else "")
        folder.mkdir(exist_ok=True)
        here = [name.name for name in folder.iterdir() if is_log_name(name.name)]
        newest = max(here, key=number_of, default=None)
        if newest is not None and (
            (number_of(newest), (folder / newest).stat().st_size) >= (number_of(last), found[last])
        ):
            return
        # All of it is here, and of this capture, before anything that was here is let go.
        if stored is None:
            raise self._another("it has logs but no state of a capture.")
        self._require_same(stored, last, spool, here)
        fetched = self._fetch(self._under(stored.folder, last), folder)
        # The object may be older than the state; it is put as whole events.
        write_state(spool, replace(stored, file=last, position=fetched.stat().st_size))
        fetched.replace(folder / last)
        for name in here:
            if name != last:
                (folder / name).unlink()

    def publish(self, spool: Path, state: CaptureState, *, final: bool) -> None:
        """Put what is closed, and, where it is time or `final`, what is under way: of the turn that
        the state is of.

        Raises NotLandedError.
        """
        folder = spool / state.folder
        names = sorted(
            (path.name for path in folder.iterdir() if is_log_name(path.name)), key=number_of
        )
        with self._sentences():
            for name in names[:-1]:
                place = self._under(state.folder, name)
                if place not in self._closed:
                    self._put_with_state(spool, place)
                    self._closed.add(place)
                # The spool is what is gone on from, by what the last one tells of those before it.
                if state.file == names[-1] and tells_what_is_before(folder / names[-1]):
                    (folder / name).unlink()
            place = self._under(state.folder, names[-1]) if names else ""
            if names and self._is_due(place, state.position, final=final):
                self._put_with_state(spool, place, state.position)
                self._under_way = (place, state.position)
                self._last = time.monotonic()

    @staticmethod
    def _under(folder: str, name: str) -> str:
        """A file's place, in the spool and in the store."""
        return f"{folder}/{name}" if folder else name

    def _is_due(self, name: str, position: int, *, final: bool) -> bool:
        """Whether a file has grown enough, since it was put last, that putting it all pays."""
        known, size = self._under_way
        before = size if known == name else 0
        if position <= before:
            return False
        waited = time.monotonic() - self._last >= self._settings.seconds
        return final or (waited and position >= before * (1 + self._settings.growth))

    def _logs(self, folder: str) -> dict[str, int]:
        """The sizes of the log files in a folder of the store, by name."""
        path = self._under(self._path, folder) if folder else self._path
        if not self._files.exists(path):
            return {}
        entries = self._files.ls(path, detail=True)
        named = ((str(entry["name"]).rpartition("/")[2], entry) for entry in entries)
        return {name: int(entry["size"]) for name, entry in named if is_log_name(name)}

    def _stored_state(self, spool: Path) -> CaptureState | None:
        """What the store's state says; None where it has none."""
        if not self._files.exists(f"{self._path}/{STATE}"):
            return None
        fetched = self._fetch(STATE, spool)
        state = read_state(spool, fetched.name)
        fetched.unlink()
        return state

    def _require_same(
        self, stored: CaptureState, last: str, spool: Path, here: Sequence[str]
    ) -> None:
        """The store's capture and the spool's are one, as far as the spool tells."""
        own = read_state(spool)
        if own is not None:
            self._require_same_capture(own, stored, spool)
        others = [name for name in here if name.rpartition(".")[0] != last.rpartition(".")[0]]
        if others:
            raise self._another(f"it holds {last}, and {spool} {others[0]}.")

    def _require_same_capture(self, own: CaptureState, stored: CaptureState, spool: Path) -> None:
        if not own.first_file:
            return
        if own.turn == stored.turn and own.server_uuid != stored.server_uuid:
            raise self._another(
                f"it holds that of server {stored.server_uuid}, and {spool} that of"
                f" {own.server_uuid}."
            )
        if own.replica.uuid != stored.replica.uuid:
            raise self._another(f"another capture than that of {spool} has put what it holds.")

    def _another(self, reason: str) -> AnotherLogError:
        return AnotherLogError(reason, folder=self.location)

    def _fetch(self, name: str, spool: Path) -> Path:
        """An object, beside what a folder of the spool has."""
        under_way = spool / f".{name.rpartition('/')[2]}.fetched"
        with self._files.open(f"{self._path}/{name}", "rb") as stored, under_way.open("wb") as file:
            shutil.copyfileobj(stored, file, _PART)
            file.flush()
            os.fsync(file.fileno())
        return under_way

    def _put_with_state(self, spool: Path, name: str, size: int | None = None) -> None:
        """The state first: a store with logs, but none, could not be gone on from."""
        self._put(spool / STATE, STATE)
        tables = spool / BESIDE_LOGS
        changed = tables.stat().st_mtime_ns if tables.exists() else self._tables
        if changed != self._tables:
            self._put(tables, BESIDE_LOGS)
            self._tables = changed
        self._put(spool / name, name, size)

    def _put(self, file: Path, name: str, size: int | None = None) -> None:
        """A file's first `size` bytes, or all of it, as an object: whole, or not at all."""
        left = file.stat().st_size if size is None else size
        target: Any = self._files.open(f"{self._path}/{name}", "wb", block_size=_PART)
        try:
            with file.open("rb") as content:
                while left and (data := content.read(min(_PART, left))):
                    target.write(data)
                    left -= len(data)
        except BaseException:
            with suppress(Exception):
                target.discard()
            raise
        target.close()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """NotLandedError for whatever the store's client raises: each has errors of its own."""
        try:
            yield
        except CaptureError:
            raise
        except Exception as error:
            raise NotLandedError(said_by(error), folder=self.location) from error
