"""What a run is told to do: frozen models over a YAML file and the command line.

Every model refuses keys that it does not know. `Settings.load` turns pydantic's errors into one
`SettingsError` that names the key, the file and line, and what was probably meant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ByteSize, ConfigDict, Field, ValidationError, model_validator

from decoder import TypeOptions
from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.lake.sql_text import quoted
from pipeline.observe.redaction import secrets_in
from pipeline.settings.capture import CaptureSettings
from pipeline.settings.expectations import declared
from pipeline.settings.file import KeyPath, SettingsFile
from pipeline.settings.mistakes import mistakes_in, one_error
from pipeline.settings.model import Model
from pipeline.settings.seed import SeedSettings
from pipeline.settings.server import ServerSettings, with_url
from pipeline.settings.values import (
    Charset,
    Duration,
    FileNumbers,
    FilePassword,
    Keys,
    LakeRoot,
    LetterCase,
    Location,
    Locations,
    Memory,
    Name,
    OrForever,
    Size,
    SparkConf,
    TablePatterns,
    TimeZone,
    UntilText,
)

MIB = 1 << 20
SYSTEM_SCHEMAS = frozenset({"mysql", "sys", "performance_schema", "information_schema"})
"""Left out unless an include pattern names one of them in full before its dot."""


def key_given(keys: Mapping[str, Sequence[str]], name: str) -> tuple[str, ...]:
    """The key that conf's `keys`, by pattern, give to `schema.table`; its own name goes first.

    Empty where they give none, and the table's own counts.
    """
    given = keys.get(name)
    if given is None:
        given = next((key for pattern, key in keys.items() if fnmatchcase(name, pattern)), ())
    return tuple(given)


class SegmentSettings(Model):
    """Sizes of bronze's segments, and of batches of them, in bytes (`16 MiB` is understood).

    `target` is where a segment is cut between transactions; only a transaction, or an event, larger
    than `limit` is cut inside. About `batch` bytes of the log go into one batch of bronze, and of
    silver, whose plans and scratch space it bounds.
    """

    target: Size = ByteSize(16 * MIB)
    limit: Size = ByteSize(64 * MIB)
    batch: Size = ByteSize(32 * 1024 * MIB)

    @model_validator(mode="after")
    def _ordered(self) -> SegmentSettings:
        if not 0 < self.target <= self.limit:
            raise ValueError("target must be at least one byte and not more than limit")
        return self


class TypeSettings(Model):
    """How MySQL types that Delta lacks become columns; see `decoder.model.options.TypeOptions`."""

    time: Literal["text", "micros"] = "text"
    zero_dates: Literal["null", "string"] = "null"


class EncryptionSettings(Model):
    """What opens encrypted logs.

    `keyring` is the file of the server's component_keyring_file, as a path or an fsspec URL;
    `passwords` are of single files, by name, in hexadecimal.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    keyring: Location | None = None
    passwords: dict[str, FilePassword] = Field(default_factory=dict)


class RetentionSettings(Model):
    """How long `binlake maintain` keeps what nothing needs any more; None: for good.

    `cuts`: published cuts, behind the time when they were published (the last one always stays);
    `silver`, `bronze`: decoded changes and the logs' bytes, behind the time when they came into the
    lake.
    """

    cuts: Duration = timedelta(days=7)
    silver: OrForever = timedelta(days=30)
    bronze: OrForever = None


class SparkSettings(Model):
    """The session: `master`, the driver's heap, and any Spark configuration on top."""

    master: str = "local[*]"
    driver_memory: Memory = ByteSize(2048 * MIB)
    conf: SparkConf = Field(default_factory=dict)


class Settings(Model):
    """All settings of a run.

    `source` names the server that the binlogs are of, and `server` is where it answers, for what
    asks it; `binlogs` is a file, a folder, or a glob (or
    several, whose files are taken together in the log's order), as
    a path or an fsspec URL; `lake` is the root folder of bronze, silver, gold and the ledger. With
    `catalog`, gold tables are `catalog.schema.table` instead of paths, and with `lake_schema` all
    other tables are in that schema of it; then `lake` only has scratch space. `keys` gives a key to
    tables without one, by pattern. `given_up` holds numbers of files in the lake behind
    which changes are missing for good. `system_time_zone` is what SYSTEM means on the source: a
    DEFAULT that is a time of day depends on it, and the log does not tell. With
    `foreign_keys_logged: true` nothing is done about what foreign keys do to child tables; else the
    log tells where it is not in it, and gold does it. `lower_case_table_names` is the server's
    variable of that name. `definitions` is a file of what tables are where the log begins, as a
    path or an fsspec URL; `default_charset` is what text is in whose charset neither the log nor
    its DDL tells.
    `drift`: whether gold's rows are compared with before images, where that is cheap or always
    (`full`). `until`: gold goes no further than that (see `pipeline.settings.until`).
    `refresh_tables`: a full refresh of gold is of these tables alone, by pattern. `engine`: where
    the tasks of bronze and silver run (see `pipeline.spark.engine`). `keep_runs`: for so many days
    the records of runs are kept. `log`: what lines of the log are. `airflow` is for the DAGs that
    are made of the same file, and nothing here looks at it.
    """

    source: Name = "mysql"
    server: ServerSettings = ServerSettings()
    capture: CaptureSettings = CaptureSettings()
    seed: SeedSettings = SeedSettings()
    binlogs: Locations = ""
    lake: LakeRoot = ""
    catalog: str | None = None
    lake_schema: str | None = None
    include: TablePatterns = ()
    exclude: TablePatterns = ()
    segments: SegmentSettings = SegmentSettings()
    types: TypeSettings = TypeSettings()
    encryption: EncryptionSettings = EncryptionSettings()
    definitions: Location | None = None
    default_charset: Charset = None
    system_time_zone: TimeZone = "UTC"
    foreign_keys_logged: bool | Literal["auto"] = "auto"
    lower_case_table_names: LetterCase = None
    given_up: FileNumbers = ()
    drift: bool | Literal["full"] = True
    until: UntilText = None
    refresh_tables: TablePatterns = ()
    retention: RetentionSettings = RetentionSettings()
    on_fault: Literal["hold", "mark"] = "hold"
    on_drop: Literal["keep", "drop"] = "keep"
    keys: Keys = Field(default_factory=dict)
    parallel_tables: Annotated[int, Field(ge=1, le=64)] = 8
    engine: Literal["auto", "spark", "local"] = "auto"
    keep_runs: Annotated[int, Field(ge=1, le=36500)] = 90
    log: Literal["text", "json"] = "text"
    spark: SparkSettings = SparkSettings()
    airflow: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def load(cls, file: Path | str | None = None, **overrides: Any) -> Settings:
        """The settings in `file`, with every override that is not None on top.

        `server` may be a URL, which goes into that section of the file.
        Raises SettingsError for a file that cannot be read, and for wrong and unknown keys: all of
        them, if there are several.
        """
        given = {key: value for key, value in overrides.items() if value is not None}
        outside: set[KeyPath] = {(key,) for key in given}
        document = SettingsFile.read(Path(file)) if file is not None else SettingsFile.empty()
        document = document.with_texts(cls._is_text)
        if isinstance(url := given.get("server"), str):
            given["server"] = with_url(document.values.get("server"), url)
            outside = outside - {("server",)} | {("server", "url")}
        return cls._validated({**document.values, **given}, document, outside)

    @classmethod
    def _is_text(cls, path: KeyPath) -> bool:
        found = declared(cls, path)
        return found is not None and found.is_text

    @classmethod
    def _validated(
        cls, values: Mapping[Any, Any], document: SettingsFile, outside: Collection[KeyPath]
    ) -> Settings:
        mistakes = list(document.mistakes)
        try:
            found = cls.model_validate(values)
        except ValidationError as error:
            mistakes += mistakes_in(error, cls, values, document, outside)
        if mistakes:
            # Not chained: pydantic's error shows what was given, which may be a secret.
            raise one_error(mistakes, document)
        return found

    def updated(self, **overrides: Any) -> Settings:
        """Return these settings with every override that is not None on top, as `load` takes them.

        Raises SettingsError.
        """
        kept = self.model_dump(exclude_unset=True)
        given = {key: value for key, value in overrides.items() if value is not None}
        if isinstance(url := given.get("server"), str):
            given["server"] = with_url(kept.get("server"), url)
        return self._validated({**kept, **given}, SettingsFile.empty(), ())

    def require(self, *keys: str) -> Settings:
        """These settings, or a SettingsError for the first of `keys` that is still empty."""
        for key in keys:
            if not getattr(self, key):
                remedy = f"Give --{key.replace('_', '-')}, or {key}: in the file of --conf."
                raise SettingsError("is not set.", key=key, remedy=remedy)
        return self

    @model_validator(mode="after")
    def _named_in_a_catalog(self) -> Settings:
        if self.lake_schema is not None and self.catalog is None:
            raise ValueError("lake_schema is a schema of catalog, which is not given")
        return self

    @property
    def inputs(self) -> str:
        """Where binlogs are, to be read by people."""
        return self.binlogs if isinstance(self.binlogs, str) else ", ".join(self.binlogs)

    @property
    def secrets(self) -> frozenset[str]:
        """What of them must not be read in a log."""
        passwords = {one.get_secret_value() for one in self.encryption.passwords.values()}
        return frozenset(passwords.union(secrets_in(self.model_dump())))

    @property
    def layout(self) -> Lake:
        """Where everything in the lake is."""
        if self.catalog is None or self.lake_schema is None:
            return Lake(self.lake)
        return Lake(self.lake, f"{quoted(self.catalog)}.{quoted(self.lake_schema)}")

    def wanted(self, schema: str, table: str) -> bool:
        """Whether this table is replicated: included, not excluded, and not the server's own."""
        if schema.lower() in SYSTEM_SCHEMAS and not any(
            pattern.partition(".")[0].lower() == schema.lower() for pattern in self.include
        ):
            return False
        name = f"{schema}.{table}"
        included = not self.include or any(fnmatchcase(name, p) for p in self.include)
        return included and not any(fnmatchcase(name, p) for p in self.exclude)

    def with_section(self, section: str, **values: Any) -> Settings:
        """These settings with other values in a section. Raises SettingsError."""
        kept = self.model_dump()
        kept[section] = {**kept[section], **values}
        return self._validated(kept, SettingsFile.empty(), ())

    @property
    def decoding(self) -> dict[str, Any]:
        """What decides which rows silver has, and how, as JSON: its plans keep it."""
        return self.model_dump(mode="json", include={"include", "exclude", "types"})

    def with_decoding(self, kept: Mapping[str, Any]) -> Settings:
        """These settings, with what `decoding` gave once."""
        return self.model_validate({**self.model_dump(), **kept})

    @property
    def type_options(self) -> TypeOptions:
        """The choices that the decoder needs."""
        return TypeOptions(time=self.types.time, zero_dates=self.types.zero_dates)
