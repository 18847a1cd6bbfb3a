"""The destination of a capture, from its settings."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import SettingsError
from pipeline.lake.locks.lock import local_path
from pipeline.settings.capture import CaptureSettings
from pipeline.source.capture.object_store import Published


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
