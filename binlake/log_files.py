"""`decode`: the row changes of binary log files, without a lake and without Spark."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import decoder
from decoder import BinlogError, TypeOptions
from pipeline.lake.locks import local_path
from pipeline.settings import EncryptionSettings
from pipeline.source import find_binlogs
from pipeline.source.logs import opened, read_keys

if TYPE_CHECKING:
    from binlake.arguments import PathOrUrl
    from decoder.model import Changes
    from pipeline.source.logs import Binlog

_PLAIN = TypeOptions()


def decode(
    *paths: PathOrUrl, keyring: PathOrUrl | None = None, options: TypeOptions = _PLAIN
) -> Iterator[Changes]:
    """Return the row changes in binary logs: files, folders or globs, as paths or fsspec URLs.

    Files are taken in the order of their numbers; they may be compressed, or encrypted by MySQL
    with the keys in the file `keyring`. Each `Changes` has `.schema`, `.table`, `.definition` and
    `.batch`, a pyarrow RecordBatch with silver's columns (docs/reference/types.md), as from
    `decoder.read`. A local file is mapped into memory; a compressed, encrypted or remote one is
    read whole.

    Names of columns come from the log's metadata (`binlog_row_metadata=FULL`); without it they are
    `c1`, `c2`, … Raises SettingsError if there is no log, BinlogError at the first fault.
    """
    keys = read_keys(EncryptionSettings(keyring=None if keyring is None else os.fspath(keyring)))
    found = find_binlogs([os.path.expanduser(os.fspath(path)) for path in paths], keys)
    if found.faults:
        raise BinlogError(" ".join(found.faults))
    return _changes(found.binlogs, options)


def _changes(binlogs: Sequence[Binlog], options: TypeOptions) -> Iterator[Changes]:
    for binlog in binlogs:
        yield from decoder.read(_content(binlog), file=binlog.stored.name, options=options)


def _content(binlog: Binlog) -> Any:
    """Return the log's bytes, decompressed and decrypted."""
    path, folder = binlog.stored.path, local_path(binlog.stored.path)
    if folder is not None and binlog.codec is None and binlog.cipher is None:
        with open(folder, "rb") as stored:
            # Not closed: batches may refer to it, and the garbage collector unmaps it.
            return mmap.mmap(stored.fileno(), 0, access=mmap.ACCESS_READ)
    with opened(path, binlog.cipher, binlog.codec) as stream:
        return stream.read()
