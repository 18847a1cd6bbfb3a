"""The options of the format `binlog`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from pipeline.errors import SettingsError
from pipeline.schema_history import TableName
from pipeline.settings import Model, Settings, Size


def _names(value: Any) -> Any:
    """Split `a, b`; a JSON array may have names with commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return json.loads(value)
    return [name.strip() for name in value.split(",")]


def _table_name(value: Any) -> Any:
    schema, dot, table = str(value).partition(".")
    if not (schema and dot and table):
        raise ValueError("is not schema.table, such as shop.orders")
    return value


NameList = Annotated[tuple[str, ...], BeforeValidator(_names), Field(min_length=1)]


class ReadOptions(Model):
    """The options, as Spark gives them: text, under names of any case."""

    path: str | None = None
    """The paths that `load` is given: a binlog file, a folder (with its subfolders), or a glob."""
    paths: NameList | None = None
    """The same, if `load` is given a list."""
    table: Annotated[str, BeforeValidator(_table_name)] | None = None
    """`schema.table`: the rows are its changes, typed. Without it, they are those of all tables,
    with both images as JSON."""
    columns: NameList | None = None
    """Columns of the table that the images have, as `id, total` or a JSON array; the default is
    all."""
    images: Literal["both", "before", "after"] = "both"
    """The images in each row."""
    definitions: str | None = None
    """Table definitions at the beginning of the log, as the setting `definitions`."""
    keyring: str | None = None
    """The keyring file of a server that encrypts its logs, as the setting `encryption.keyring`."""
    conf: str | None = None
    """A settings file: only `include`, `exclude`, `types`, `encryption`, `definitions`,
    `default_charset`, `system_time_zone` and `lower_case_table_names` are used."""
    segment_bytes: Annotated[Size, Field(gt=0)] | None = Field(None, alias="segmentBytes")
    """Divide files between transactions into partitions of about this size. The default is a
    partition for each file."""
    max_bytes_per_trigger: Annotated[Size, Field(gt=0)] | None = Field(
        None, alias="maxBytesPerTrigger"
    )
    """For a stream: the most bytes of the log in a micro-batch, but at least one transaction."""
    max_files_per_trigger: Annotated[int, Field(gt=0)] | None = Field(
        None, alias="maxFilesPerTrigger"
    )
    """For a stream: the most files in a micro-batch."""

    @property
    def locations(self) -> tuple[str, ...]:
        """Paths or URLs of the logs."""
        return (self.paths or ()) if self.path is None else (self.path,)

    @property
    def table_name(self) -> TableName | None:
        """The table, if one is given."""
        return None if self.table is None else TableName.read(self.table)

    def settings(self) -> Settings:
        """Return the settings that the options stand for. Raises SettingsError."""
        found = Settings.load(self.conf, definitions=self.definitions)
        if self.keyring is not None:
            found = found.with_section("encryption", keyring=self.keyring)
        return found


_NAMES = {field.alias or name: name for name, field in ReadOptions.model_fields.items()}


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """Check the options of a DataFrameReader. Raises SettingsError for the first wrong one."""
    known = {name.lower(): name for name in _NAMES}
    for name in given:
        if name.lower() not in known:
            raise _unknown(name)
    try:
        options = ReadOptions.model_validate({known[n.lower()]: v for n, v in given.items()})
    except (ValidationError, ValueError) as error:
        raise _wrong(error) from None
    if not options.locations:
        raise SettingsError("load() needs the path of the logs.", key="path")
    if options.max_bytes_per_trigger and options.max_files_per_trigger:
        raise SettingsError(
            "maxBytesPerTrigger and maxFilesPerTrigger are both given.",
            key="maxFilesPerTrigger",
            remedy="Give one of them.",
        )
    if options.columns and options.table is None:
        raise SettingsError("columns needs table.", key="columns", remedy="Give both, or neither.")
    return options


def _unknown(name: str) -> SettingsError:
    by_lower = {known.lower(): known for known in _NAMES}
    close = get_close_matches(name.lower(), by_lower, n=1)
    offered = f"Did you mean {by_lower[close[0]]}?" if close else f"Options: {', '.join(_NAMES)}."
    return SettingsError("is not an option of the format binlog.", key=name, remedy=offered)


def _wrong(error: ValueError) -> SettingsError:
    if not isinstance(error, ValidationError):
        return SettingsError(f"{error}.")
    first = error.errors()[0]
    reason = str(first["msg"]).removeprefix("Value error, ")
    return SettingsError(f"{first['input']!r}: {reason}.", key=str(first["loc"][0]))
