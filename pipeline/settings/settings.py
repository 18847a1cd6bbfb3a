"""The settings of a run: frozen models of a YAML file and the command line.

Every model rejects unknown keys. `Settings.load` converts pydantic's errors to one `SettingsError`
with the key, file and line of each, and a suggestion.
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
from pipeline.settings.conf_file import KeyPath, SettingsFile
from pipeline.settings.gold import GoldSettings
from pipeline.settings.mistakes import declared, mistakes_in, one_error
from pipeline.settings.monitoring import LineageSettings, MetricsSettings, NotifySettings
from pipeline.settings.server import ServerSettings, with_url
from pipeline.settings.sync import SyncSettings
from pipeline.settings.values import (
    Charset,
    ConfiguredKeys,
    Duration,
    FileAndPosition,
    FileNumbers,
    FilePassword,
    LakeRoot,
    LetterCase,
    Location,
    Locations,
    Memory,
    Model,
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
"""Schemas that are excluded unless an include pattern has their full name before its dot."""


def matches(name: object, patterns: Collection[str]) -> bool:
    """Return True if `schema.table` matches one of the patterns, or if there are none."""
    return not patterns or any(fnmatchcase(str(name), pattern) for pattern in patterns)


def key_given(keys: Mapping[str, Sequence[str]], name: str) -> tuple[str, ...]:
    """Return a table's key columns in the setting `keys`, by its exact name, else by pattern.

    Empty if there are none, so that the table's own key is used.
    """
    given = keys.get(name)
    if given is None:
        given = next((key for pattern, key in keys.items() if fnmatchcase(name, pattern)), ())
    return tuple(given)


class SeedSettings(Model):
    """Initial snapshots: the tables to seed, and how they are read."""

    tables: tuple[str, ...] = ()
    """Patterns over `schema.table` of the tables to seed (`--table`). None: the tables whose rows
    gold does not have in full."""
    consistent: bool = False
    """Read all tables as of one moment, in one stream (`--consistent`)."""
    dump: Location | None = None
    """Read a dump, or CSV or Parquet files, instead of the server (`--from`)."""
    form: Literal["dump", "csv", "parquet"] = "dump"
    """The form of `dump` (`--form`): a dump of mysqldump, mariadb-dump, MySQL Shell or mydumper, or
    files of one table."""
    create: Location | None = None
    """For CSV and Parquet: a file with the table's CREATE TABLE (`--create`)."""
    at: FileAndPosition | None = None
    """The log position that the dump belongs to, if it does not record one (`--at`)."""
    chunk_rows: Annotated[int, Field(ge=100)] = 500_000
    """Rows that one Spark task reads at a time, and reads again if it fails."""
    parallel: Annotated[int, Field(ge=1, le=256)] = 4
    """Number of chunks read at once, each over its own connection."""


class SegmentSettings(Model):
    """Sizes of bronze's segments and of batches."""

    target: Size = ByteSize(16 * MIB)
    """Approximate size at which bronze divides a file, between transactions."""
    limit: Size = ByteSize(64 * MIB)
    """Only a transaction or event larger than this is itself divided."""
    batch: Size = ByteSize(32 * 1024 * MIB)
    """Approximate amount of log in one batch of bronze, and of silver. A larger backlog is
    processed in several batches, and those that were completed remain if the run dies."""

    @model_validator(mode="after")
    def _ordered(self) -> SegmentSettings:
        if not 0 < self.target <= self.limit:
            raise ValueError("target must be at least one byte and not more than limit")
        return self


class TypeSettings(Model):
    """Representation of MySQL types that Delta lacks; see `decoder.TypeOptions`."""

    time: Literal["text", "micros"] = "text"
    """Representation of TIME: `text`, as MySQL prints it, or `micros`, microseconds in a long. In a
    lake that has tables, a change needs a full refresh."""
    zero_dates: Literal["null", "string"] = "null"
    """The replacement of zero and impossible dates: `null` (counted per column), or `string`: dates
    are stored as text. In a lake that has tables, a change needs a full refresh."""


class EncryptionSettings(Model):
    """The keys of encrypted logs."""

    model_config = ConfigDict(hide_input_in_errors=True)

    keyring: Location | None = None
    """The server's keyring file (component_keyring_file), as a path or an fsspec URL. It opens logs
    written with `binlog_encryption=ON`."""
    passwords: dict[str, FilePassword] = Field(default_factory=dict)
    """Instead of a keyring: passwords of single files by file name, 64 hexadecimal digits in
    quotes."""


class RetentionSettings(Model):
    """Retention, by `binlake maintain`, of data that is no longer needed; None: forever.

    That of the records of runs is a setting of its own, `keep_runs`.
    """

    cuts: Duration = timedelta(days=7)
    """Retention of published snapshots (rows of `gold/_cuts`), from their publication. The last one
    always stays."""
    silver: OrForever = timedelta(days=30)
    """Retention of silver's rows that are no longer needed, from their arrival in the lake; or
    `forever`."""
    bronze: OrForever = None
    """Retention of the bytes of logs that are no longer needed; or `forever`. Without them nothing
    can be decoded again."""


class SparkSettings(Model):
    """The Spark session that Binlake starts."""

    master: str = "local[*]"
    """The master of a Spark that Binlake starts: this machine, a cluster (`spark://host:7077`), or
    a Spark Connect server (`sc://host:port`). Ignored under spark-submit."""
    driver_memory: Memory = ByteSize(2048 * MIB)
    """The driver's heap. Ignored under spark-submit."""
    conf: SparkConf = Field(default_factory=dict)
    """Any Spark configuration. It overrides what Binlake sets. Settings of stores
    (`spark.hadoop.fs.…`) also apply to delta-rs and fsspec."""


class Settings(Model):
    """All settings of a run."""

    source: Name = "mysql"
    """A name for the server that the binlogs come from, together with its replicas: letters,
    digits, `_`, `.`, `-`."""
    server: ServerSettings = ServerSettings()
    capture: CaptureSettings = CaptureSettings()
    seed: SeedSettings = SeedSettings()
    sync: SyncSettings = SyncSettings()
    binlogs: Locations = ""
    """A binlog file, a folder (read with its subfolders), or a glob; a local path or an fsspec URL;
    or a list of them, whose files are ordered as one log. Files may be compressed."""
    lake: LakeRoot = ""
    """The root folder of bronze, silver, gold and the ledger: a path, or a URI that Spark and
    fsspec both know."""
    catalog: str | None = None
    """Make gold tables `catalog.schema.table` instead of paths. Choose it when the lake is
    created."""
    lake_schema: str | None = None
    """A schema of the catalog for all other tables. With it, the lake's folder holds only scratch
    space."""
    include: TablePatterns = ()
    """Tables to replicate: patterns over `schema.table` with `*`, `?`, `[…]`, case-sensitive. None:
    all. The server's own schemas are left out unless a pattern names one."""
    exclude: TablePatterns = ()
    """Tables to leave out, as patterns over `schema.table`."""
    segments: SegmentSettings = SegmentSettings()
    types: TypeSettings = TypeSettings()
    encryption: EncryptionSettings = EncryptionSettings()
    definitions: Location | None = None
    """Table definitions at the beginning of the log, for a log that does not name columns
    (`binlog_row_metadata=MINIMAL`, MariaDB's `NO_LOG`): a path or fsspec URL of the output of
    `mysqldump --no-data --databases …`, or of a `.yml` file with `schema.table: CREATE TABLE …`.
    Not needed for tables whose CREATE TABLE is in the log or was read by `capture` or `seed`."""
    default_charset: Charset = None
    """The character set of text whose column, table and schema name none. Only logs of MySQL before
    8.0 and of MariaDB (`NO_LOG`) need it."""
    system_time_zone: TimeZone = "UTC"
    """The time zone that SYSTEM stands for on the source, as `Europe/Paris` or `+02:00`. The log
    does not record it, and DEFAULTs that are a time of day depend on it."""
    foreign_keys_logged: bool | Literal["auto"] = "auto"
    """Changes that foreign keys make to child tables (CASCADE, SET NULL): `true` if the log
    contains them all; with `auto` or `false`, gold makes them wherever the log's flags say that the
    server did not log them."""
    lower_case_table_names: LetterCase = None
    """The server's variable of this name: 0, 1 or 2. With 1 and 2, table names are lower case
    however statements spell them. Unset, a statement on a table whose name differs from a known one
    only in case holds that table."""
    given_up: FileNumbers = ()
    """Accepted gaps: numbers of files after which changes are missing for good, as the gap's
    message gives them. Later files are applied, and tables that existed before are no longer
    `complete`."""
    drift: bool | Literal["full"] = True
    """Compare gold's rows with the before images of their changes, to find rows that were changed
    outside the log. `true`: in parts of a batch of up to 100,000 changes, in about a
    sixth of the tables of each batch (in all of up to four small tables); `full`: always; `false`:
    never."""
    until: UntilText = None
    """The last position that gold applies (`--until`): a time in ISO 8601 (UTC if it has no
    offset), a GTID, `FILE:POSITION`, or an LSN. The published snapshot is at the last
    transaction in the log before the first that is later. A later run without it continues from
    there."""
    refresh_tables: TablePatterns = ()
    """With `apply --full-refresh`: rebuild only these tables. Use `--table` rather than a file,
    where it would apply to every full refresh of gold."""
    retention: RetentionSettings = RetentionSettings()
    on_fault: Literal["hold", "mark"] = "hold"
    """The effect of a fault on its tables: `hold` stops them just before it; `mark`
    continues and marks them as not equal to their source."""
    on_drop: Literal["keep", "drop"] = "keep"
    """The effect of the source's DROP TABLE on the gold table: `keep` its last rows, or `drop`
    them."""
    keys: ConfiguredKeys = Field(default_factory=dict)
    """Columns to use as a table's key, by pattern over `schema.table`. A table is held if two rows
    have the same key, or if a key value is a zero date or invalid text."""
    gold: GoldSettings = GoldSettings()
    parallel_tables: Annotated[int, Field(ge=1, le=64)] = 8
    """Number of tables written at the same time."""
    engine: Literal["auto", "spark", "local"] = "auto"
    """Engine for the tasks of bronze and silver: `local`, in threads of this process; `spark`, on
    Spark's workers; `auto`, in this process if Spark has only this machine and a batch reads at
    most 1 GiB. A job that spark-submit or Databricks started always uses the workers. The output is
    the same."""
    keep_runs: Annotated[int, Field(ge=1, le=36500)] = 90
    """Days for which `binlake maintain` keeps the record of each run."""
    stale: Duration | None = None
    """Maximum age of the newest binlog file in a run that finds nothing new, as `2 hours`. An older
    one is a fault, and the exit code is 3. Unset: any age."""
    metrics: MetricsSettings = MetricsSettings()
    lineage: LineageSettings = LineageSettings()
    notify: NotifySettings = NotifySettings()
    log: Literal["text", "json"] = "text"
    """The form of a run's standard error: `text` (bars on a terminal, lines elsewhere) or `json`
    (one object per line). `--log` and `BINLAKE_LOG` override it."""
    spark: SparkSettings = SparkSettings()
    airflow: dict[str, Any] = Field(default_factory=dict)
    """Settings of the Airflow DAGs that are made from the same file. Nothing else reads them."""

    @classmethod
    def load(cls, file: Path | str | None = None, **overrides: Any) -> Settings:
        """Load the settings in `file`; every override that is not None replaces the file's.

        `server` may be a URL, which is set in that section of the file. Raises SettingsError if the
        file cannot be read, or for all invalid and unknown keys together.
        """
        document = SettingsFile() if file is None else SettingsFile.read(Path(file), cls._is_text)
        return cls._validated(document.values, overrides, document)

    @classmethod
    def require_valid(cls, file: Path) -> None:
        """Raise SettingsError for what is wrong in a file in any environment, as `load` does.

        Values that have environment variables, and what depends on them, are not checked.
        """
        document = SettingsFile.read(file, cls._is_text, variables=False)
        mistakes = list(document.mistakes)
        try:
            cls.model_validate(document.values)
        except ValidationError as error:
            mistakes += mistakes_in(error, cls, document.values, document, ())
        if mistakes:
            raise one_error(mistakes, document)  # not chained, as in _validated

    @classmethod
    def _is_text(cls, path: KeyPath) -> bool:
        found = declared(cls, path)
        return found is not None and found.is_text

    @classmethod
    def _validated(
        cls, below: Mapping[str, Any], overrides: Mapping[str, Any], document: SettingsFile
    ) -> Settings:
        """Return the settings of `below` with every override that is not None on top."""
        given = {key: value for key, value in overrides.items() if value is not None}
        outside: set[KeyPath] = {(key,) for key in given}
        if isinstance(url := given.get("server"), str):
            given["server"] = with_url(below.get("server"), url)
            outside = outside - {("server",)} | {("server", "url")}
        values = {**below, **given}
        mistakes = list(document.mistakes)
        try:
            found = cls.model_validate(values)
        except ValidationError as error:
            mistakes += mistakes_in(error, cls, values, document, outside)
        if mistakes:
            # Not chained: pydantic's error quotes the input, which may be a secret.
            raise one_error(mistakes, document)
        return found

    def updated(self, **overrides: Any) -> Settings:
        """Return these settings with every override that is not None on top, as `load` takes them.

        Raises SettingsError.
        """
        return self._validated(self.model_dump(exclude_unset=True), overrides, SettingsFile())

    def require(self, *keys: str) -> Settings:
        """Return these settings; raise SettingsError for the first of `keys` that is empty."""
        for key in keys:
            if not getattr(self, key):
                remedy = f"Give --{key.replace('_', '-')}, or set {key} in the --conf file."
                raise SettingsError("is not set.", key=key, remedy=remedy)
        return self

    @model_validator(mode="after")
    def _named_in_a_catalog(self) -> Settings:
        if self.lake_schema is not None and self.catalog is None:
            raise ValueError("lake_schema needs catalog, which is not set")
        return self

    @property
    def inputs(self) -> str:
        """The location of the binlogs, for messages."""
        return self.binlogs if isinstance(self.binlogs, str) else ", ".join(self.binlogs)

    @property
    def secrets(self) -> frozenset[str]:
        """All secret values, which must not be logged."""
        secrets = [*self.encryption.passwords.values(), self.notify.url]
        values = {one.get_secret_value() for one in secrets if one is not None}
        return frozenset(values.union(secrets_in(self.model_dump())))

    @property
    def layout(self) -> Lake:
        """The layout of the lake."""
        if self.catalog is None or self.lake_schema is None:
            return Lake(self.lake)
        return Lake(self.lake, f"{quoted(self.catalog)}.{quoted(self.lake_schema)}")

    def wanted(self, schema: str, table: str) -> bool:
        """Return True if a table is replicated: included, not excluded, and not a system table."""
        if schema.lower() in SYSTEM_SCHEMAS and not any(
            pattern.partition(".")[0].lower() == schema.lower() for pattern in self.include
        ):
            return False
        name = f"{schema}.{table}"
        excluded = bool(self.exclude) and matches(name, self.exclude)
        return matches(name, self.include) and not excluded

    def with_section(self, section: str, **values: Any) -> Settings:
        """Return a copy with every value that is not None in a section. Raises SettingsError."""
        kept = self.model_dump()
        given = {name: value for name, value in values.items() if value is not None}
        return self._validated(kept, {section: {**kept[section], **given}}, SettingsFile())

    @property
    def decoding(self) -> dict[str, Any]:
        """The settings that determine silver's rows, as JSON, which silver's plans record."""
        return self.model_dump(mode="json", include={"include", "exclude", "types"})

    def with_decoding(self, kept: Mapping[str, Any]) -> Settings:
        """Return a copy with an earlier value of `decoding`."""
        return self.model_validate({**self.model_dump(), **kept})

    @property
    def type_options(self) -> TypeOptions:
        """The decoder's type options."""
        return TypeOptions(time=self.types.time, zero_dates=self.types.zero_dates)
