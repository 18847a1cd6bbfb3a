"""Settings of `binlake capture`: where a server's logs are written, and how often durably."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ByteSize, Field

from pipeline.settings.model import Model
from pipeline.settings.values import LocalPath, Location, Size

_MIB = 1 << 20


class CheckpointSettings(Model):
    """After so many bytes, or `seconds`, what has been landed is made durable."""

    bytes: Size = ByteSize(16 * _MIB)
    seconds: Annotated[float, Field(gt=0, le=3600)] = 5


class RetrySettings(Model):
    """`longest` is the most seconds between two tries to connect; after `tries` of them without a
    byte a capture that is not to run for ever gives up."""

    longest: Annotated[float, Field(gt=0, le=3600)] = 30
    tries: Annotated[int, Field(ge=1)] = 8


class PublishSettings(Model):
    """How often a file that still grows is put into an object store, all of it each time: when it
    has grown by that part of what is there (0.25: by a quarter), and `seconds` have passed; and
    when the capture ends."""

    seconds: Annotated[float, Field(ge=0, le=86400)] = 60
    growth: Annotated[float, Field(ge=0, le=10)] = 0.25


class CaptureSettings(Model):
    """`to` is where the server's logs are landed: a folder, or an fsspec URL. With a URL `spool` is
    the local folder that they are landed in on their way. `server_id` is what the capture is
    registered as at the server (None: one of the folder's own, above 2**31).

    `forever`: until it is told to end, instead of until it has caught up. `semi_sync`: durable
    events are acknowledged, where the server asks for it. `purged`: what is done where the server
    has removed files that are not landed. `first_file`: where an empty folder begins (None: with
    the server's first). `queue` bounds the bytes that wait to be written.
    """

    to: Location = ""
    spool: LocalPath | None = None
    publish: PublishSettings = PublishSettings()
    server_id: Annotated[int, Field(ge=1, le=0xFFFFFFFF)] | None = None
    first_file: str | None = None
    forever: bool = False
    semi_sync: bool = False
    purged: Literal["stop", "continue"] = "stop"
    queue: Size = ByteSize(64 * _MIB)
    checkpoint: CheckpointSettings = CheckpointSettings()
    retry: RetrySettings = RetrySettings()
