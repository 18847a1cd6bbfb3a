"""Object stores and other file systems, as fsspec and Spark know them.

A store is named by its protocol: `s3://` and `s3a://` are one, of which Spark knows the second.
Who reads and writes it is what conf's settings of Hadoop say, else the environment
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
"""fsspec's package for a store, by protocol: those of Binlake's extras."""

REMEDY = (
    "Check the path, and the store's endpoint and credentials in spark.conf or in the environment."
)
"""What to do about a store that cannot be reached."""
VARIABLE = "BINLAKE_STORE_SECRETS"
"""Has the settings of stores that conf gives, as JSON, for children and for workers."""


def filesystem_of(location: str, *, key: str) -> tuple[Any, str]:
    """The store of a path or URL, and the path in it.

    Raises SettingsError (of `key`) for a protocol that is not known, or without its package.
    """
    try:
        filesystem, path = fsspec_of(location)
    except (ImportError, ValueError) as error:
        # fsspec says which package a store needs, or that it does not know the protocol.
        protocol = location.partition("://")[0]
        package = _PACKAGES.get(protocol)
        raise SettingsError(
            f"{location} cannot be read: {error}.",
            key=key,
            remedy=f"Install {package} beside Binlake: pip install {package}"
            if package
            else "Install the fsspec package of that store beside Binlake, or check the URL.",
        ) from error
    return filesystem, path


@contextmanager
def sentences(location: str, *, key: str) -> Iterator[None]:
    """UnreachableError (of `key`) for whatever keeps the body from asking what there is.

    Each store's client has errors of its own: no credentials, no such bucket, no network.
    """
    try:
        yield
    except Exception as error:
        raise UnreachableError(
            f"{location} cannot be reached: {said_by(error)}.",
            key=key,
            remedy=REMEDY,
        ) from error


def is_known(location: str) -> bool:
    """Whether it is in a store of those above. Of others only Spark may know the way."""
    return location.partition("://")[0] in _PACKAGES


def require_reachable(location: str, *, key: str) -> None:
    """UnreachableError (of `key`) where one of the stores above cannot be asked what it has there,
    SettingsError where its package is not installed. Of others only Spark may know the way."""
    if not is_known(location):
        return
    filesystem, path = filesystem_of(location, key=key)
    with sentences(location, key=key):
        filesystem.exists(path)


ASIDE = ".aside"
"""At the end of the name of a file that is being written."""


def exists(path: str) -> bool:
    """Whether there is a file or folder now, whoever put it there.

    Raises what the store's client raises where it does not tell: fsspec's own question takes a
    local disk's errors (a stale NFS handle, say) for a no.
    """
    filesystem, place = _fresh(path)
    try:
        filesystem.info(place)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def content(path: str) -> bytes | None:
    """A small file's bytes as they are now; None where there is no such file."""
    filesystem, place = _fresh(path)
    try:
        found: bytes = filesystem.cat_file(place)
    except FileNotFoundError:
        return None
    return found


def write(path: str, content: bytes) -> None:
    """Put a small file there, whole: nobody sees half of it. Its folder is made."""
    filesystem, place = _fresh(path)
    filesystem.makedirs(place.rpartition("/")[0], exist_ok=True)
    filesystem.pipe_file(f"{place}{ASIDE}", content)
    filesystem.mv(f"{place}{ASIDE}", place)


@contextmanager
def binary(path: str) -> Iterator[BinaryIO]:
    """A file that is written as it comes. Its folder is made."""
    filesystem, place = _fresh(path)
    filesystem.makedirs(place.rpartition("/")[0], exist_ok=True)
    with filesystem.open(place, "wb") as out:
        yield out


@contextmanager
def readable(path: str) -> Iterator[BinaryIO]:
    """A file that is read in places."""
    filesystem, place = _fresh(path)
    with filesystem.open(place, "rb") as file:
        yield file


def make_folder(folder: str) -> None:
    """Make a folder and those it is in, unless they are there."""
    filesystem, place = _fresh(folder)
    filesystem.makedirs(place, exist_ok=True)


def size(path: str) -> int:
    """How many bytes are in a file."""
    filesystem, place = _fresh(path)
    return int(filesystem.info(place)["size"])


@contextmanager
def gzipped(path: str) -> Iterator[TextIO]:
    """A text file (ASCII), compressed as it is written. Its folder is made."""
    filesystem, place = _fresh(path)
    filesystem.makedirs(place.rpartition("/")[0], exist_ok=True)
    with (
        filesystem.open(place, "wb") as raw,
        gzip.open(raw, "wt", encoding="ascii", newline="\n") as out,
    ):
        yield out


def names_in(folder: str) -> list[str]:
    """The names of what is in a folder; none where there is no such folder."""
    filesystem, path = _fresh(folder)
    if not filesystem.exists(path):
        return []
    entries = (str(entry).rstrip("/") for entry in filesystem.ls(path, detail=False))
    return [entry.rpartition("/")[2] for entry in entries if entry != path.rstrip("/")]


def remove(folder: str) -> None:
    """Remove a folder with all that is in it, if it is there."""
    filesystem, path = _fresh(folder)
    if filesystem.exists(path):
        with suppress(FileNotFoundError):  # somebody else was quicker
            filesystem.rm(path, recursive=True)


def last_modified(folder: str) -> datetime | None:
    """When the youngest file in a folder was written; None where there is no such folder.

    Of an empty folder, which only disks have, when it was made.
    """
    filesystem, path = _fresh(folder)
    try:
        files = filesystem.find(path) or [path]
        times: list[datetime] = [filesystem.modified(file) for file in files]
    except FileNotFoundError:  # somebody removes it
        return None
    return max(times)


def move(path: str, to: str) -> None:
    """Move a file or folder to a place where nothing is yet."""
    filesystem, place = _fresh(path)
    _, target = _fresh(to)
    filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
    filesystem.mv(place, target, recursive=True)


def _fresh(location: str) -> tuple[Any, str]:
    """The store and the path in it, without what is remembered of it: Spark writes there too."""
    filesystem, path = fsspec_of(location)
    filesystem.invalidate_cache()
    return filesystem, path


def said_by(error: Exception) -> str:
    """What an error of a store or its client says, in a line."""
    told = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(told).split()).rstrip(".")


def use_conf(conf: Mapping[str, str]) -> None:
    """Let every client of stores in this process, and in its children, heed conf's settings.

    They are in a variable of the environment, whose name has Spark and Binlake hide its value:
    children and workers have it without a plan or a record that would keep it.
    """
    keys = store_keys(conf)
    redact.learn(value for name, value in keys.items() if is_secret(name))
    if keys:
        os.environ[VARIABLE] = json.dumps(keys, sort_keys=True)
    else:
        os.environ.pop(VARIABLE, None)


def options_for(location: str, environment: Mapping[str, str] = os.environ) -> StoreOptions:
    """What delta-rs and fsspec need to find a place as Hadoop does.

    Raises SettingsError for settings that only Hadoop knows.
    """
    return options_of(location, json.loads(environment.get(VARIABLE, "{}")), environment)


def fsspec_of(location: str) -> tuple[Any, str]:
    """The store of a path or URL, and the path in it, as conf and environment say."""
    filesystem, path = url_to_fs(location, **options_for(location).fsspec)
    return filesystem, path


def hadoop_conf(
    environment: Mapping[str, str] = os.environ, *, workers_elsewhere: bool = True
) -> dict[str, str]:
    """What Spark needs so that it finds the stores that the other clients find.

    Nothing where S3 is AWS's own and conf says nothing of stores: what is in conf Hadoop reads.
    Workers on this machine have this process's environment: no command line needs to show keys.
    """
    told: dict[str, str] = {}
    if workers_elsewhere and VARIABLE in environment:
        told[f"spark.executorEnv.{VARIABLE}"] = environment[VARIABLE]
    endpoints = {name: environment[name] for name in ENDPOINTS if environment.get(name)}
    if not endpoints:
        return told
    region = next((environment[name] for name in REGIONS if environment.get(name)), DEFAULT_REGION)
    return {
        **told,
        "spark.hadoop.fs.s3a.endpoint": next(iter(endpoints.values())),
        "spark.hadoop.fs.s3a.endpoint.region": region,
        # Few of them have a host name for each bucket.
        "spark.hadoop.fs.s3a.path.style.access": "true",
        # Workers on other machines read binlogs from there, too.
        **{f"spark.executorEnv.{name}": endpoint for name, endpoint in endpoints.items()},
    }
