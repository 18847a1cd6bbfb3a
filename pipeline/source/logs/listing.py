"""Find the binary logs among the input files, by magic number; by name, those that should be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO, cast

from decoder import BinlogError, Keys
from decoder.constants import EventFlag
from decoder.encryption import HEADER_LENGTH, NO_KEYS, StreamCipher
from decoder.errors import EncryptedError, NotABinlogError, TruncatedError, UnsupportedError
from decoder.segments import FLAGS_POSITION, Head, has_in_use_flag, read_head
from pipeline.lake.stores import error_text
from pipeline.source.logs.archive import MAGIC_LENGTH, ArchivedFile, codec_of
from pipeline.source.logs.ciphers import ENCRYPTION_REMEDY, find_cipher
from pipeline.source.logs.server_folders import FIRST_TURN, turn_of
from pipeline.source.logs.storage import (
    THREADS,
    StoredFile,
    decrypted,
    file_name,
    list_files,
    opened,
    read_with_retries,
)

_FIRST_READ = 1 << 16
_MORE = 8
"""Factor by which the next read grows if that was not enough."""
_LARGEST_HEAD = 64 << 20
"""Most bytes read for a head, whatever length its events claim."""
_IN_INNODB = ".ibb"
"""Suffix of logs that MariaDB 12.3 keeps in InnoDB (`binlog_storage_engine`)."""
_NUMBERED = re.compile(r"(?P<base>.+)\.(?P<number>\d+)")
_SERVER_NUMBERED = re.compile(r".+\.\d{6,}")
_WITHOUT_AN_ENGINE = (
    "Start the server without binlog_storage_engine, so that it writes event files, then take the"
    " initial snapshot (binlake seed); see binlake check."
)
_COPY_AGAIN = "Copy the file from the server again, or leave it out."


class _InInnodbError(BinlogError):
    """The file belongs to a log that MariaDB keeps in InnoDB."""


_REMEDIES: tuple[tuple[type[BinlogError], str], ...] = (
    (_InInnodbError, _WITHOUT_AN_ENGINE),
    (EncryptedError, ENCRYPTION_REMEDY),
    (UnsupportedError, "Leave the file out."),
    (BinlogError, _COPY_AGAIN),
)


_MOST_HEADS = 20_000
_heads: dict[StoredFile, tuple[str | None, StreamCipher | None, Head]] = {}
"""Codec and head of files that are not encrypted: a long-running process lists the same thousands
of files again and again, and opens only those that have changed since."""


@dataclass(frozen=True, slots=True)
class Binlog:
    """A binary log file among the input; `base` and `number` are the two parts of its name.

    With a `cipher` it is encrypted, and `stored` and `head` describe the log inside. With a `codec`
    it is compressed: `stored.size` is that of the archive, and the log's is known once all is read.
    """

    stored: StoredFile
    head: Head
    base: str
    number: int
    cipher: StreamCipher | None = None
    codec: str | None = None

    @property
    def size(self) -> int | None:
        """Size of the log in bytes; None if it is compressed."""
        return self.stored.size if self.codec is None else None


@dataclass(frozen=True, slots=True)
class Listing:
    """The binary logs, ordered by number; `faults` and `notes` are sentences.

    `begun`: number of files that the server has created but whose head is not complete yet.
    """

    binlogs: tuple[Binlog, ...]
    begun: int
    faults: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Refused:
    file: StoredFile
    error: BinlogError


def find_binlogs(location: str | Iterable[str], keys: Keys = NO_KEYS) -> Listing:
    """List the binary logs at one or several locations, each once, with their heads.

    A file that is not a binary log is a note, or a fault if it was given by name or is named like
    one; so is an encrypted file that no key decrypts. Raises SettingsError if there are no files.
    """
    locations = [location] if isinstance(location, str) else location
    found = {file.path: file for place in locations for file in list_files(place)}
    files = list(found.values())
    with ThreadPoolExecutor(THREADS) as threads:
        inspected = list(threads.map(partial(_inspect, keys=keys), files))
    binlogs = [one for one in inspected if isinstance(one, Binlog)]
    refused = [one for one in inspected if isinstance(one, _Refused)]
    faults = [r for r in refused if _matters(r, given=len(files) == 1)]
    return Listing(
        binlogs=tuple(sorted(binlogs, key=lambda binlog: (binlog.number, binlog.stored.path))),
        begun=sum(isinstance(r.error, _JustBegunError) for r in refused),
        faults=tuple(_sentence(r) for r in faults),
        notes=tuple(
            f"{r.file.path} is skipped: {r.error.reason}" for r in set(refused) - set(faults)
        ),
    )


def find_any(locations: Iterable[str], keys: Keys = NO_KEYS) -> bool:
    """Return True if any file is a binary log, or one that a run would report as damaged.

    Stops at the first such file.
    """
    inspected = (_inspect(file, keys=keys) for place in locations for file in list_files(place))
    return any(
        isinstance(one, Binlog)
        or isinstance(one.error, _JustBegunError)
        or _matters(one, given=False)
        for one in inspected
    )


def split_name(name: str) -> tuple[str, int]:
    """Return base and number of a log's name; a name without a number counts as number 1."""
    match = _NUMBERED.fullmatch(name)
    return (match["base"], int(match["number"])) if match else (name, 1)


def _inspect(file: StoredFile, keys: Keys) -> Binlog | _Refused:
    try:
        codec, cipher, head = _heads.get(file) or _inspected(file, keys)
    except BinlogError as error:
        if file.name.endswith(_IN_INNODB):
            reason = "it contains InnoDB pages (binlog_storage_engine), not events"
            return _Refused(file, _InInnodbError(reason))
        return _Refused(file, error)
    except OSError as error:
        return _Refused(file, BinlogError(f"it cannot be read: {error_text(error)}"))
    if codec is not None:
        # The archive's size also identifies this version of the file.
        file = replace(file, modified=f"{file.modified}, {file.size} bytes of {codec}")
    elif cipher is not None:
        file = replace(file, size=max(file.size - HEADER_LENGTH, 0))
    if (turn := turn_of(file.path)) != FIRST_TURN:
        # Each turn of a capture has files of its own (see `server_folders`).
        head = replace(head, incarnation=f"{head.incarnation}, turn {turn}")
    return Binlog(file, head, *split_name(file.name), cipher, codec)


def _inspected(file: StoredFile, keys: Keys) -> tuple[str | None, StreamCipher | None, Head]:
    """Return codec, cipher and head of a file, and keep them unless they depend on keys."""
    found = read_with_retries(partial(_inspect_file, file, keys))
    if found[1] is None:
        if len(_heads) >= _MOST_HEADS:
            _heads.clear()
        _heads[file] = found
    return found


def _inspect_file(file: StoredFile, keys: Keys) -> tuple[str | None, StreamCipher | None, Head]:
    """Return codec, cipher and head of a file."""
    with opened(file.path, ahead=_FIRST_READ) as stored:
        codec = codec_of(stored.read(MAGIC_LENGTH))
        stored.seek(0)
        log, size = stored, file.size
        if codec is not None:
            log, size = cast(BinaryIO, ArchivedFile(stored, codec)), _LARGEST_HEAD
        cipher = find_cipher(log, file.name, keys)
        if cipher is not None:
            size = max(size - HEADER_LENGTH, 0)
        return codec, cipher, _read_head(decrypted(log, cipher), size)


def head_of(path: str, cipher: StreamCipher | None, codec: str | None, size: int) -> Head:
    """Return the head of the log in a file, which has `size` bytes or more, in a small read.

    Raises OSError, and BinlogError if it does not begin as a log does.
    """
    with opened(path, cipher, codec, ahead=_FIRST_READ) as log:
        return _read_head(log, size)


def _read_head(stream: BinaryIO, size: int) -> Head:
    """Read a log's head, in growing reads up to `_LARGEST_HEAD`."""
    beginning = stream.read(min(size, _FIRST_READ))
    while True:
        try:
            return read_head(beginning)
        except TruncatedError as error:
            wanted = min(size, _LARGEST_HEAD, len(beginning) * _MORE)
            more = stream.read(wanted - len(beginning))
            if not more:
                raise _cut_short(beginning, error) from error
            beginning += more


def _cut_short(beginning: bytes, error: TruncatedError) -> BinlogError:
    flags = beginning[FLAGS_POSITION] if has_in_use_flag(beginning) else 0
    if flags & EventFlag.BINLOG_IN_USE:
        return _JustBegunError("the server has just created it")
    return error


class _JustBegunError(BinlogError):
    """The file is in use and its head is not complete yet."""


def _matters(refused: _Refused, *, given: bool) -> bool:
    """Return True if skipping the file may lose changes."""
    if isinstance(refused.error, _JustBegunError):
        return False
    if given or not isinstance(refused.error, NotABinlogError):
        return True
    return bool(_SERVER_NUMBERED.fullmatch(refused.file.name))


def _sentence(refused: _Refused) -> str:
    error = refused.error.at(file=file_name(refused.file.path))
    remedy = next(text for kind, text in _REMEDIES if isinstance(error, kind))
    return f"{error}. {remedy}"
