"""Upload of a capture's landed files to an object store, which cannot append to objects.

A capture lands logs in a local folder, the spool, and resumes from it; a file is uploaded when it
is closed, and the growing one from time to time. Uploads are atomic, so readers of the store see
files as the server had them at some time. A closed file is removed from the spool once it is in the
store. A lost spool is restored from the store's last file.
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

from pipeline.errors import SettingsError
from pipeline.lake.locks.lock import local_path
from pipeline.lake.stores import error_text, filesystem_of
from pipeline.settings.capture import CaptureSettings, PublishSettings
from pipeline.source.capture.errors import AnotherLogError, CaptureError, NotLandedError
from pipeline.source.capture.landed_gtids import has_previous_gtids
from pipeline.source.capture.state import STATE, CaptureState, read_state, write_state
from pipeline.source.logs.kept_statements import READINGS_FILE
from pipeline.source.logs.server_folders import FIRST_TURN
from pipeline.source.server.log_position import is_log_name, number_of

_PART = 16 << 20
"""Part size of uploads and downloads in bytes, held in memory."""


class Published:
    """The copy of a spool in the store at `location`."""

    def __init__(self, location: str, settings: PublishSettings) -> None:
        self.location = location.rstrip("/")
        self._settings = settings
        self._files, path = filesystem_of(location, key="capture.to")
        self._path = str(path).rstrip("/")
        self._last = time.monotonic()
        self._closed: set[str] = set()
        self._growing = ("", 0)
        self._tables = 0

    def restore(self, spool: Path) -> None:
        """Restore a spool that has less than the store, so that the capture can resume from there.

        Raises NotLandedError if the store cannot be read, AnotherLogError if its content is from
        another capture than the spool's.
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
            # A failover had just happened: the state is uploaded first.
            write_state(spool, replace(stored, file="", position=0))

    def _restore_tables(self, spool: Path) -> None:
        """Download the table definitions, to which a new reading is appended."""
        if not (spool / READINGS_FILE).exists() and self._files.exists(
            f"{self._path}/{READINGS_FILE}"
        ):
            self._fetch(READINGS_FILE, spool).replace(spool / READINGS_FILE)

    def _restore_from(
        self, found: Mapping[str, int], stored: CaptureState | None, spool: Path
    ) -> None:
        """Restore the store's last file, unless the spool has more of the same turn."""
        last = max(found, key=number_of)
        folder = spool / (stored.folder if stored is not None else "")
        folder.mkdir(exist_ok=True)
        here = [name.name for name in folder.iterdir() if is_log_name(name.name)]
        newest = max(here, key=number_of, default=None)
        if newest is not None and (
            (number_of(newest), (folder / newest).stat().st_size) >= (number_of(last), found[last])
        ):
            return
        # Local files are only removed once the download is complete and is of this capture.
        if stored is None:
            raise self._another("it contains logs but no capture's state.")
        self._require_same(stored, last, spool, here)
        fetched = self._fetch(self._under(stored.folder, last), folder)
        # The object may be older than the state; it ends with a whole event.
        write_state(spool, replace(stored, file=last, position=fetched.stat().st_size))
        fetched.replace(folder / last)
        for name in here:
            if name != last:
                (folder / name).unlink()

    def publish(self, spool: Path, state: CaptureState, *, final: bool) -> None:
        """Upload the closed files of the state's turn and, if due or `final`, the growing one.

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
                # The capture resumes from the spool: its last file must have its previous GTIDs.
                if state.file == names[-1] and has_previous_gtids(folder / names[-1]):
                    (folder / name).unlink()
            # A killed capture may have landed more files than the state knows: its position is then
            # in an earlier one.
            place = self._under(state.folder, state.file)
            known = bool(names) and state.file == names[-1]
            if known and self._is_due(place, state.position, final=final):
                self._put_with_state(spool, place, state.position)
                self._growing = (place, state.position)
                self._last = time.monotonic()

    @staticmethod
    def _under(folder: str, name: str) -> str:
        """Return a file's path relative to the spool and to the store."""
        return f"{folder}/{name}" if folder else name

    def _is_due(self, name: str, position: int, *, final: bool) -> bool:
        """Return True if a file has grown enough since its last upload to be uploaded again."""
        known, size = self._growing
        before = size if known == name else 0
        if position <= before:
            return False
        waited = time.monotonic() - self._last >= self._settings.seconds
        return final or (waited and position >= before * (1 + self._settings.growth))

    def _logs(self, folder: str) -> dict[str, int]:
        """Return the sizes of the log files in a folder of the store, by name."""
        path = self._under(self._path, folder) if folder else self._path
        if not self._files.exists(path):
            return {}
        entries = self._files.ls(path, detail=True)
        named = ((str(entry["name"]).rpartition("/")[2], entry) for entry in entries)
        return {name: int(entry["size"]) for name, entry in named if is_log_name(name)}

    def _stored_state(self, spool: Path) -> CaptureState | None:
        """Return the store's state; None if it has none."""
        if not self._files.exists(f"{self._path}/{STATE}"):
            return None
        fetched = self._fetch(STATE, spool)
        state = read_state(spool, fetched.name)
        fetched.unlink()
        return state

    def _require_same(
        self, stored: CaptureState, last: str, spool: Path, here: Sequence[str]
    ) -> None:
        """Raise AnotherLogError if the store and the spool are of different captures."""
        own = read_state(spool)
        if own is not None:
            self._require_same_capture(own, stored, spool)
        others = [name for name in here if name.rpartition(".")[0] != last.rpartition(".")[0]]
        if others:
            raise self._another(f"it contains {last}, but {spool} contains {others[0]}.")

    def _require_same_capture(self, own: CaptureState, stored: CaptureState, spool: Path) -> None:
        if not own.first_file:
            return
        if own.turn == stored.turn and own.server_uuid != stored.server_uuid:
            raise self._another(
                f"it contains the log of server {stored.server_uuid}, but {spool} that of"
                f" {own.server_uuid}."
            )
        if own.replica.uuid != stored.replica.uuid:
            raise self._another(f"it was written by another capture than that of {spool}.")

    def _another(self, reason: str) -> AnotherLogError:
        return AnotherLogError(reason, folder=self.location)

    def _fetch(self, name: str, spool: Path) -> Path:
        """Download an object to a hidden file in a folder of the spool."""
        temporary = spool / f".{name.rpartition('/')[2]}.fetched"
        with self._files.open(f"{self._path}/{name}", "rb") as stored, temporary.open("wb") as file:
            shutil.copyfileobj(stored, file, _PART)
            file.flush()
            os.fsync(file.fileno())
        return temporary

    def _put_with_state(self, spool: Path, name: str, size: int | None = None) -> None:
        """Upload the state and then a file: a store with logs but no state cannot be resumed."""
        self._put(spool / STATE, STATE)
        tables = spool / READINGS_FILE
        changed = tables.stat().st_mtime_ns if tables.exists() else self._tables
        if changed != self._tables:
            self._put(tables, READINGS_FILE)
            self._tables = changed
        self._put(spool / name, name, size)

    def _put(self, file: Path, name: str, size: int | None = None) -> None:
        """Upload a file's first `size` bytes (None: all), atomically."""
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
        """Translate whatever the store's client raises into NotLandedError."""
        try:
            yield
        except CaptureError:
            raise
        except Exception as error:
            raise NotLandedError(error_text(error), folder=self.location) from error


def place_of(settings: CaptureSettings) -> tuple[Path, Published | None]:
    """Return the local folder to land logs in, and the store to upload them to, if any.

    Raises SettingsError if no local folder is set.
    """
    if not settings.to:
        remedy = "Give --to, or capture: {to: …} in the file of --conf: a folder, or a URL."
        raise SettingsError("is not set.", key="capture.to", remedy=remedy)
    folder = local_path(settings.to)
    if folder is not None:
        return Path(folder), None
    if settings.spool is None:
        remedy = "Give a local folder: stores cannot append, so files are landed there first."
        raise SettingsError("is required for a store.", key="capture.spool", remedy=remedy)
    return Path(settings.spool), Published(settings.to, settings.publish)
