"""Which of the input files are binary logs: by their magic number, and by name what should be."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO

from decoder.constants import EventFlag
from decoder.encryption.header import HEADER_LENGTH
from decoder.encryption.keys import NO_KEYS, Keys
from decoder.encryption.stream_cipher import StreamCipher
from decoder.errors import (
    BinlogError,
    EncryptedError,
    NotABinlogError,
    TruncatedError,
    UnsupportedError,
)
from decoder.framer import FLAGS_POSITION, has_in_use_flag
from decoder.head import Head, read_head
from pipeline.bronze.encrypted import GIVE_A_KEY, find_cipher
from pipeline.bronze.storage import THREADS, StoredFile, decrypted, list_files, opened

_FIRST_READ = 1 << 16
_NUMBERED = re.compile(r"(?P<base>.+)\.(?P<number>\d+)")
_SERVER_NUMBERED = re.compile(r".+\.\d{6,}")
_COPY_AGAIN = "Copy the file from the server again, or leave it out."
_REMEDIES: tuple[tuple[type[BinlogError], str], ...] = (
    (EncryptedError, GIVE_A_KEY),
    (UnsupportedError, "Leave the file out."),
    (BinlogError, _COPY_AGAIN),
)


@dataclass(frozen=True, slots=True)
class Binlog:
    """A binary log among the input: `base` and `number` are the two parts of its name.

    With `cipher` it is encrypted; what `stored` and `head` tell is of the log inside.
    """

    stored: StoredFile
    head: Head
    base: str
    number: int
    cipher: StreamCipher | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The binary logs in order of their numbers; `faults` and `notes` are sentences.

    `begun`: how many files the server has begun, but not so far that they can be read.
    """

    binlogs: tuple[Binlog, ...]
    begun: int
    faults: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Refused:
    file: StoredFile
    error: BinlogError


def find_binlogs(location: str, keys: Keys = NO_KEYS) -> Listing:
    """The binary logs that `location` means, with their heads.

    A file that is none is a note; a fault where it was given by name, or is named like one, and so
    is an encrypted one that none of the keys opens. Raises SettingsError where there is nothing.
    """
    files = list_files(location)
    with ThreadPoolExecutor(THREADS) as threads:
        looked_at = list(threads.map(partial(_look, keys=keys), files))
    binlogs = [found for found in looked_at if isinstance(found, Binlog)]
    refused = [found for found in looked_at if isinstance(found, _Refused)]
    faults = [r for r in refused if _matters(r, given=len(files) == 1)]
    return Listing(
        binlogs=tuple(sorted(binlogs, key=lambda binlog: (binlog.number, binlog.stored.path))),
        begun=sum(isinstance(r.error, _JustBegunError) for r in refused),
        faults=tuple(_sentence(r) for r in faults),
        notes=tuple(
            f"{r.file.path} is left out: {r.error.reason}" for r in set(refused) - set(faults)
        ),
    )


def split_name(name: str) -> tuple[str, int]:
    """Base and number of a log's name; a name without a number counts as number 1."""
    match = _NUMBERED.fullmatch(name)
    return (match["base"], int(match["number"])) if match else (name, 1)


def _look(file: StoredFile, keys: Keys) -> Binlog | _Refused:
    try:
        with opened(file.path) as stored:
            cipher = find_cipher(stored, file.name, keys)
            if cipher is not None:
                file = replace(file, size=max(file.size - HEADER_LENGTH, 0))
            head = _read_head(decrypted(stored, cipher), file.size)
    except BinlogError as error:
        return _Refused(file, error)
    except OSError as error:
        return _Refused(file, BinlogError(f"it cannot be read: {error.strerror or error}"))
    return Binlog(file, head, *split_name(file.name), cipher)


def _read_head(stream: BinaryIO, size: int) -> Head:
    beginning = stream.read(min(size, _FIRST_READ))
    try:
        try:
            return read_head(beginning)
        except TruncatedError:
            return read_head(beginning + stream.read(size - len(beginning)))
    except TruncatedError as error:
        flags = beginning[FLAGS_POSITION] if has_in_use_flag(beginning) else 0
        if flags & EventFlag.BINLOG_IN_USE:
            raise _JustBegunError("the server is beginning it") from error
        raise


class _JustBegunError(BinlogError):
    """A file in use whose head is not written completely."""


def _matters(refused: _Refused, *, given: bool) -> bool:
    """Whether leaving the file out may lose something."""
    if isinstance(refused.error, _JustBegunError):
        return False
    if given or not isinstance(refused.error, NotABinlogError):
        return True
    return bool(_SERVER_NUMBERED.fullmatch(refused.file.name))


def _sentence(refused: _Refused) -> str:
    error = refused.error.at(file=refused.file.name)
    remedy = next(text for kind, text in _REMEDIES if isinstance(error, kind))
    return f"{error}. {remedy}"
