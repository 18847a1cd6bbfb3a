"""Arguments of Binlake's functions: settings, a file of them, a lake's folder, keyword options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

from pipeline.errors import SettingsError
from pipeline.settings import Settings
from pipeline.spark import apply_to_process

PathOrUrl: TypeAlias = "str | os.PathLike[str]"
GivenSettings: TypeAlias = "Settings | str | os.PathLike[str] | None"
"""Settings, the path of a settings file (`.yml`, `.yaml`), or else a lake's folder."""

_YAML = (".yml", ".yaml")


class Options(TypedDict, total=False):
    """The keys of a settings file (docs/guides/configuration.md), each also an argument."""

    source: str
    server: str | Mapping[str, Any]
    capture: Mapping[str, Any]
    seed: Mapping[str, Any]
    sync: Mapping[str, Any]
    binlogs: PathOrUrl | Sequence[PathOrUrl]
    lake: PathOrUrl
    catalog: str
    lake_schema: str
    include: Sequence[str]
    exclude: Sequence[str]
    segments: Mapping[str, Any]
    types: Mapping[str, Any]
    encryption: Mapping[str, Any]
    definitions: PathOrUrl
    default_charset: str
    system_time_zone: str
    foreign_keys_logged: bool | Literal["auto"]
    lower_case_table_names: Literal[0, 1, 2]
    given_up: Sequence[int]
    drift: bool | Literal["full"]
    until: str | int
    refresh_tables: Sequence[str]
    retention: Mapping[str, Any]
    on_fault: Literal["hold", "mark"]
    on_drop: Literal["keep", "drop"]
    keys: Mapping[str, Sequence[str]]
    gold: Mapping[str, Any]
    parallel_tables: int
    engine: Literal["auto", "spark", "local"]
    keep_runs: int
    stale: str
    metrics: Mapping[str, Any]
    lineage: Mapping[str, Any]
    notify: Mapping[str, Any]
    log: Literal["text", "json"]
    spark: Mapping[str, Any]
    airflow: Mapping[str, Any]


def settings_from(given: GivenSettings, options: Mapping[str, Any]) -> Settings:
    """Return the settings of `given`, overridden by `options`, and use them in this process.

    Raises SettingsError.
    """
    values = {name: _plain(value) for name, value in options.items()}
    if isinstance(given, Settings):
        return apply_to_process(given.updated(**values) if values else given)
    if given is None or os.fspath(given).endswith(_YAML):
        file = None if given is None else Path(given).expanduser()
        return apply_to_process(Settings.load(file, **values))
    if values.get("lake") is not None:
        reason = f"is given twice: {os.fspath(given)} and {values['lake']}."
        raise SettingsError(reason, key="lake", remedy="A settings file ends in .yml or .yaml.")
    return apply_to_process(Settings.load(None, **{**values, "lake": os.fspath(given)}))


def _plain(value: Any) -> Any:
    """Return paths as text, also those in lists."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
