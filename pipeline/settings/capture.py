"""Settings of `binlake capture`: the destination of a server's logs, checkpoints and retries."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ByteSize, Field

from pipeline.settings.values import LocalPath, Location, Model, Size

_MIB = 1 << 20


class CheckpointSettings(Model):
    """Limits at which landed bytes are made durable, whichever is reached first."""

    bytes: Size = ByteSize(16 * _MIB)
    """Make the landed file durable after this many bytes."""
    seconds: Annotated[float, Field(gt=0, le=3600)] = 5
    """Make the landed file durable after this many seconds."""


class RetrySettings(Model):
    """Retries of a lost connection."""

    longest: Annotated[float, Field(gt=0, le=3600)] = 30
    """The longest pause between two attempts to connect, in seconds. Pauses start at 0.2 s and
    double."""
    tries: Annotated[int, Field(ge=1)] = 8
    """Give up after this many attempts in a row without a new byte; never with `forever`."""


class PublishSettings(Model):
    """Uploads of the growing file to an object store, whole each time: when both limits are
    reached, and when the capture ends."""

    seconds: Annotated[float, Field(ge=0, le=86400)] = 60
    """Upload the growing file at most this often, in seconds. Only with a URL in `capture.to`."""
    growth: Annotated[float, Field(ge=0, le=10)] = 0.25
    """Upload the growing file only when it has grown by this fraction (0.25: a quarter)."""


class CaptureSettings(Model):
    """Capture of a live server's logs."""

    to: Location = ""
    """Destination of the server's logs: a folder, or an fsspec URL."""
    spool: LocalPath | None = None
    """With a URL in `to`: the local folder in which files are landed before they are uploaded."""
    publish: PublishSettings = PublishSettings()
    server_id: Annotated[int, Field(ge=1, le=0xFFFFFFFF)] | None = None
    """The replica id that the capture registers with: no other server or replica may have it.
    Unset, each folder gets one of its own, from 2147483648 on."""
    first_file: str | None = None
    """The log file that an empty folder starts with. Unset: the server's oldest."""
    forever: bool = False
    """Run until SIGTERM or Ctrl-C (`--forever`) instead of until caught up."""
    semi_sync: bool = False
    """Acknowledge events once they are durable, if the server waits for it (semi-synchronous
    replication)."""
    purged: Literal["stop", "continue"] = "stop"
    """The action when the server has purged files that were not landed: `stop`, or `continue` after
    the gap, which is recorded and reported."""
    queue: Size = ByteSize(64 * _MIB)
    """Bytes that may wait to be written. When the queue is full, the server waits."""
    checkpoint: CheckpointSettings = CheckpointSettings()
    retry: RetrySettings = RetrySettings()
