"""Object stores and other file systems, as fsspec and Spark know them.

A store is named by its protocol: `s3://` and `s3a://` are one, of which Spark knows the second.
Who may read or write it is told by the environment (AWS_ACCESS_KEY_ID, a role of the machine, …)
to fsspec and to Spark alike, and never passes through here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fsspec.core import url_to_fs

from pipeline.errors import SettingsError

_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "abfs"),
}
"""What Binlake is installed with for a store, by protocol."""

ENDPOINT = "AWS_ENDPOINT_URL"
"""The variable that AWS's own clients take another S3 from; s3fs and Spark look at it too."""
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def filesystem_of(location: str, *, key: str) -> tuple[Any, str]:
    """The store of a path or URL, and the path in it.

    Raises SettingsError (of `key`) for a protocol that is not known, or without its package.
    """
    try:
        filesystem, path = url_to_fs(location)
    except (ImportError, ValueError) as error:
        # fsspec says which package a store needs, or that it does not know the protocol.
        protocol = location.partition("://")[0]
        extra = _EXTRAS.get(protocol)
        raise SettingsError(
            f"{location} cannot be read: {error}.",
            key=key,
            remedy=f"pip install 'binlake[{extra}]'."
            if extra
            else "Install the fsspec package of that store beside Binlake, or check the URL.",
        ) from error
    return filesystem, path


def said_by(error: Exception) -> str:
    """What an error of a store or its client says, in a line."""
    told = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(told).split()).rstrip(".")


def s3a_conf(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What Spark's S3A needs to be told so that it finds the S3 that other clients find.

    Nothing where that is AWS's own.
    """
    endpoint = environment.get(ENDPOINT)
    if not endpoint:
        return {}
    region = next((environment[name] for name in REGIONS if environment.get(name)), "us-east-1")
    return {
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": region,
        # Few of them have a host name for each bucket.
        "spark.hadoop.fs.s3a.path.style.access": "true",
        # Workers on other machines read binlogs from there, too.
        f"spark.executorEnv.{ENDPOINT}": endpoint,
    }
