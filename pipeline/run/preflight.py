"""Checks of the places that a command needs, before Spark starts: logs, definitions, server, lake.

A wrong place is an error in the settings, raised at once and without a record of a failed run. A
store that does not answer now is left to the run, which records the error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from pipeline.errors import NothingReplicatedError, SettingsError, UnreachableError
from pipeline.lake.layout import is_lake
from pipeline.schema_history.timeline.definitions_file import read_start
from pipeline.settings import Settings
from pipeline.source.logs.ciphers import read_keys
from pipeline.source.logs.listing import find_any
from pipeline.source.logs.storage import require_files
from pipeline.source.server.login import login


def require_places(layers: Collection[str], settings: Settings) -> None:
    """Raise SettingsError if a place that the jobs of these layers need is wrong."""
    for layer, look in _LOOKS.items():
        if layer in layers:
            try:
                look(settings)
            except UnreachableError:
                return


def require_lake(settings: Settings) -> Settings:
    """Return the settings. Raise SettingsError if they name no lake, or if it does not exist."""
    settings.require("lake")
    try:
        found = _has_lake(settings)
    except UnreachableError:
        return settings
    if not found:
        raise no_lake(settings)
    return settings


def _has_lake(settings: Settings) -> bool:
    """Return True if a run has started there, or if only Spark can determine it: in a catalog, and
    on the machine of a Spark Connect server."""
    elsewhere = settings.spark.master.startswith("sc://") or "SPARK_REMOTE" in os.environ
    return settings.lake_schema is not None or elsewhere or is_lake(settings.lake)


def no_lake(settings: Settings) -> SettingsError:
    """Return the error for a folder in which no run has started."""
    reason = f"there is no lake in {settings.lake}: nothing has been replicated there yet."
    remedy = "Run binlake run first, or give the folder that it was given."
    return NothingReplicatedError(reason, key="lake", remedy=remedy)


def _binlogs(settings: Settings) -> None:
    keys = read_keys(settings.encryption)
    locations = [settings.binlogs] if isinstance(settings.binlogs, str) else settings.binlogs
    for location in locations:
        require_files(location, key="binlogs")
    # An existing lake may have ingested all of them already.
    if _has_lake(settings) or find_any(locations, keys):
        return
    raise SettingsError(
        f"there is no binary log at {settings.inputs}: no file there begins with a binary log's"
        " magic number.",
        key="binlogs",
        remedy="Give the folder that log_bin_basename names on the server, or a copy of its files.",
    )


def _definitions(settings: Settings) -> None:
    if settings.definitions is not None:
        read_start(settings.definitions)


def _seeded_from(settings: Settings) -> None:
    if settings.seed.dump is None:
        login(settings)
    for key in ("dump", "create"):
        location = getattr(settings.seed, key)
        if location is not None:
            require_files(location, key=f"seed.{key}")


_LOOKS: Mapping[str, Callable[[Settings], None]] = MappingProxyType(
    {"bronze": _binlogs, "silver": _definitions, "seed": _seeded_from}
)
"""Checks by the layer whose job needs the place."""
