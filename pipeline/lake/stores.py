"""Access to files in object stores and other file systems, by fsspec.

A store is named by its protocol: `s3://` and `s3a://` are the same store, and Spark knows only the
second. Credentials come from Hadoop's settings in spark.conf, or the environment
(AWS_ACCESS_KEY_ID, a role of the machine, …): see `pipeline.lake.store_options`.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, BinaryIO, TextIO

from fsspec.core import url_to_fs

from pipeline.errors import SettingsError, UnreachableError
from pipeline.lake.store_options import (
    DEFAULT_REGION,
    ENDPOINTS,
    REGIONS,
    StoreOptions,
    options_of,
    store_keys,
)
from pipeline.observe import redact
from pipeline.observe.redaction import is_secret

_PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "adlfs"),
}
"""fsspec's package for a store, by protocol, as in Binlake's extras."""

REMEDY = (
    "Check the path, and the store's endpoint and credentials in spark.conf or in the environment."
)
"""The remedy for a store that cannot be reached."""
VARIABLE = "BINLAKE_STORE_SECRETS"
"""The environment variable with the store settings, as JSON, for child processes and workers."""


def filesystem_of(location: str, *, key: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path in it.

    Raises SettingsError (for `key`) if the protocol is unknown, or its package is not installed.
    """
    try:
        filesystem, path = fsspec_of(location)
    except (ImportError, ValueError) as error:
        # fsspec's message names the missing package, or the unknown protocol.
        protocol = location.partition("://")[0]
        package = _PACKAGES.get(protocol)
        raise SettingsError(
            f"{location} cannot be read: {error}.",
            key=key,
            remedy=f"Install its package: pip install {package}"
            if package
            else "Check the URL, or install the fsspec package for that protocol.",
        ) from error
    return filesystem, path


@contextmanager
def sentences(location: str, *, key: str) -> Iterator[None]:
    """Raise UnreachableError (for `key`) for any error in the block.

    Each store's client has error classes of its own for missing credentials, buckets or networks.
    """
    try:
        yield
    except Exception as error:
        raise UnreachableError(
            f"{location} cannot be reached: {error_text(error)}.",
            key=key,
            remedy=REMEDY,
        ) from error


def is_known(location: str) -> bool:
    """Return True for a location in S3, GCS or Azure; other stores may be known only to Spark."""
    return location.partition("://")[0] in _PACKAGES


def require_reachable(location: str, *, key: str) -> None:
    """Raise UnreachableError (for `key`) if a location in S3, GCS or Azure cannot be accessed,
    SettingsError if the store's package is not installed. Other stores are not checked."""
    if not is_known(location):
        return
    filesystem, path = filesystem_of(location, key=key)
    with sentences(location, key=key):
        filesystem.exists(path)


ASIDE = ".aside"
"""The suffix of a file that is being written."""


def exists(path: str) -> bool:
    """Return True if a file or folder exists now, bypassing caches.

    Errors of the store's client are raised: fsspec's own `exists` returns False for errors of a
    local disk (a stale NFS handle, for example).
    """
    filesystem, place = _fresh(path)
    try:
        filesystem.info(place)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def content(path: str) -> bytes | None:
    """Return a small file's current bytes; None if it does not exist."""
    filesystem, place = _fresh(path)
    try:
        found: bytes = filesystem.cat_file(place)
    except FileNotFoundError:
        return None
    return found


def write(path: str, content: bytes) -> None:
    """Write a small file atomically, by a rename; its folder is created."""
    filesystem, place = _in_folder(path)
    filesystem.pipe_file(f"{place}{ASIDE}", content)
    filesystem.mv(f"{place}{ASIDE}", place)


@contextmanager
def binary(path: str) -> Iterator[BinaryIO]:
    """Open a file for streaming writes; its folder is created."""
    filesystem, place = _in_folder(path)
    with filesystem.open(place, "wb") as out:
        yield out


@contextmanager
def readable(path: str) -> Iterator[BinaryIO]:
    """Open a file for random reads."""
    filesystem, place = _fresh(path)
    with filesystem.open(place, "rb") as file:
        yield file


def make_folder(folder: str) -> None:
    """Create a folder and its parents, unless they exist."""
    filesystem, place = _fresh(folder)
    filesystem.makedirs(place, exist_ok=True)


def size(path: str) -> int:
    """Return a file's size in bytes."""
    filesystem, place = _fresh(path)
    return int(filesystem.info(place)["size"])


@contextmanager
def gzipped(path: str) -> Iterator[TextIO]:
    """Open a gzip-compressed text file (ASCII) for writing; its folder is created."""
    with binary(path) as raw, gzip.open(raw, "wt", encoding="ascii", newline="\n") as out:
        yield out


def names_in(folder: str) -> list[str]:
    """Return the names of a folder's entries; none if it does not exist."""
    filesystem, path = _fresh(folder)
    if not filesystem.exists(path):
        return []
    entries = (str(entry).rstrip("/") for entry in filesystem.ls(path, detail=False))
    return [entry.rpartition("/")[2] for entry in entries if entry != path.rstrip("/")]


def remove(folder: str) -> None:
    """Remove a folder and its contents, if it exists."""
    filesystem, path = _fresh(folder)
    if filesystem.exists(path):
        with suppress(FileNotFoundError):  # removed by another process meanwhile
            filesystem.rm(path, recursive=True)


def last_modified(folder: str) -> datetime | None:
    """Return when the newest file in a folder was written; None if the folder does not exist.

    For an empty folder, which only file systems have, its own modification time.
    """
    filesystem, path = _fresh(folder)
    try:
        files = filesystem.find(path) or [path]
        times: list[datetime] = [filesystem.modified(file) for file in files]
    except FileNotFoundError:  # being removed by another process
        return None
    return max(times)


def move(path: str, to: str) -> None:
    """Move a file or folder to a path that does not exist yet."""
    filesystem, place = _fresh(path)
    _, target = _in_folder(to)
    filesystem.mv(place, target, recursive=True)


def _fresh(location: str) -> tuple[Any, str]:
    """Return the file system and the path in it, with its cache cleared: Spark writes there too."""
    filesystem, path = fsspec_of(location)
    filesystem.invalidate_cache()
    return filesystem, path


def _in_folder(location: str) -> tuple[Any, str]:
    """Return the same for a file to be written, whose folder is created."""
    filesystem, path = _fresh(location)
    filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
    return filesystem, path


def error_text(error: Exception) -> str:
    """Return the message of an error of a store or its client, in one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split()).rstrip(".")


def use_conf(conf: Mapping[str, str]) -> None:
    """Make every store client in this process and its children use these settings.

    They are passed in an environment variable, whose name makes Spark and Binlake redact its value:
    children and workers get them without any plan or record that would store them.
    """
    keys = store_keys(conf)
    redact.learn(value for name, value in keys.items() if is_secret(name))
    if keys:
        os.environ[VARIABLE] = json.dumps(keys, sort_keys=True)
    else:
        os.environ.pop(VARIABLE, None)


def options_for(location: str, environment: Mapping[str, str] = os.environ) -> StoreOptions:
    """Return the options with which delta-rs and fsspec access a location as Hadoop does.

    Raises SettingsError for settings that only Hadoop supports.
    """
    return options_of(location, json.loads(environment.get(VARIABLE, "{}")), environment)


def fsspec_of(location: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, by conf and environment, and the path in it."""
    found: tuple[Any, str] = url_to_fs(location, **options_for(location).fsspec)
    return found


def hadoop_conf(
    environment: Mapping[str, str] = os.environ, *, workers_elsewhere: bool = True
) -> dict[str, str]:
    """Return the Spark settings with which Spark accesses the same stores as the other clients.

    None are needed for AWS's own S3 without store settings: Hadoop reads those itself.
    Workers on this machine inherit this process's environment, so that no command line shows keys.
    """
    settings: dict[str, str] = {}
    if workers_elsewhere and VARIABLE in environment:
        settings[f"spark.executorEnv.{VARIABLE}"] = environment[VARIABLE]
    endpoints = {name: environment[name] for name in ENDPOINTS if environment.get(name)}
    if not endpoints:
        return settings
    region = next((environment[name] for name in REGIONS if environment.get(name)), DEFAULT_REGION)
    return {
        **settings,
        "spark.hadoop.fs.s3a.endpoint": next(iter(endpoints.values())),
        "spark.hadoop.fs.s3a.endpoint.region": region,
        # Few S3-compatible stores have a host name per bucket.
        "spark.hadoop.fs.s3a.path.style.access": "true",
        # Workers on other machines read binlogs from there too.
        **{f"spark.executorEnv.{name}": endpoint for name, endpoint in endpoints.items()},
    }
