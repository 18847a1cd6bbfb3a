"""The base of every settings model, and types with descriptions and examples for messages."""

from __future__ import annotations

import re
from datetime import date, timedelta
from os.path import expanduser
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
)

from pipeline.lake.locks.lock import absolute
from pipeline.settings.time_zone import zone
from pipeline.settings.until import FORMS, Until

FOREVER = "forever"
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(
    r"\s*(?P<count>\d{1,6})\s*"
    r"(?P<unit>s|m|h|d|w|seconds?|secs?|minutes?|mins?|hours?|days?|weeks?)\s*",
    re.IGNORECASE,
)
_DURATIONS = "7 days, 36 hours, 90 minutes, or 30d, 12h, 90m"


class Model(BaseModel):
    """Frozen, strict about keys: the base of every settings model."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _table_pattern(pattern: str) -> str:
    schema, dot, table = pattern.partition(".")
    if not (schema and dot and table):
        raise ValueError(f"{pattern!r} is not a pattern over schema.table, such as shop.*")
    return pattern


def _time_zone(name: str) -> str:
    try:
        zone(name)
    except ValueError as error:
        raise ValueError(f"{error}: use a name such as Europe/Paris, or +02:00") from error
    return name


def _charset(name: str | None) -> str | None:
    # Imported on use: its package imports numpy, and Airflow reads settings again and again.
    from decoder.columns.charsets import COLLATIONS

    if name is not None and name.lower() not in {*COLLATIONS, "utf8"}:
        raise ValueError(f"{name!r} is not a MySQL character set, such as utf8mb4 or latin1")
    return name if name is None else name.lower()


def _file_password(password: SecretStr) -> SecretStr:
    if re.fullmatch(r"[0-9A-Fa-f]{64}", password.get_secret_value()) is None:
        raise ValueError("is not a file password: expects 64 hexadecimal digits, in quotes")
    return password


def _java_memory(value: Any) -> Any:
    """Accept Java's notation (`2g`, `1500m`), in powers of 1024."""
    short = re.fullmatch(r"(\d+)([kmgKMG])", value) if isinstance(value, str) else None
    return f"{short[1]}{short[2]}iB" if short else value


def _duration(value: Any) -> Any:
    """Parse `7 days`, `36h` or `forever` (None); raise ValueError for a number without a unit."""
    if value is None or isinstance(value, timedelta):
        return value
    if isinstance(value, str) and value.strip().lower() == FOREVER:
        return None
    written = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if written is None:
        raise ValueError(f"{_yaml(value)} is not a duration, such as {_DURATIONS}")
    return timedelta(**{_UNITS[written["unit"][0].lower()]: int(written["count"])})


def duration_text(duration: timedelta | None) -> str:
    """Return a duration in the largest unit that is exact: `1 day`, `36 hours`, `forever`."""
    if duration is None:
        return FOREVER
    seconds = int(duration.total_seconds())
    units = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
    count, unit = next((seconds // size, unit) for unit, size in units if seconds % size == 0)
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def size_text(size: int) -> str:
    """Return a size in the largest unit that is exact: `16 MiB`, `1000 B`."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size and size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"


_SHOWN_SIZE = PlainSerializer(size_text, return_type=str, when_used="json")
_SHOWN_DURATION = PlainSerializer(duration_text, return_type=str, when_used="json")


def _yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _spark_value(value: Any) -> Any:
    """Return numbers and booleans in Spark's notation: `200`, `0.5`, `true`."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _one_or_several(value: Any) -> Any:
    """Return the only item of a list of one."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


def _digit(value: Any) -> Any:
    """Accept a digit as text, as from an environment variable."""
    return int(value) if isinstance(value, str) and value in ("0", "1", "2") else value


def _until(value: Any) -> Any:
    """Return the value as text: YAML reads times as dates, and LSNs as numbers."""
    if isinstance(value, date):
        value = value.isoformat()
    text = str(value) if isinstance(value, int | str) else value
    if isinstance(text, str):
        Until.read(text)
    return text


Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        description="a name of letters, digits, - _ and . that begins with a letter or a digit",
        examples=["shop"],
    ),
]

LocalPath = Annotated[
    str, AfterValidator(expanduser), Field(description="a path", examples=["/etc/binlake/ca.pem"])
]
"""A path on this machine; `~` is the user's home."""

Location = Annotated[
    str,
    AfterValidator(expanduser),
    Field(description="a path or URL", examples=["/data/lake or s3a://bucket/lake"]),
]
"""A path, in which `~` is the user's home, or a URL that fsspec supports."""

LakeRoot = Annotated[
    Location,
    AfterValidator(absolute),
    Field(description="a path or URL", examples=["/data/lake or s3a://bucket/lake"]),
]
"""A lake's root; a relative path is made absolute, since Delta's SQL does not accept it."""

Locations = Annotated[
    Location | tuple[Location, ...],
    BeforeValidator(_one_or_several),
    Field(
        description="a path, glob or URL, or a list of them",
        examples=["/var/lib/mysql/binlog.* or [s3://backup/a/, s3://backup/b/]"],
    ),
]

TablePattern = Annotated[
    str,
    AfterValidator(_table_pattern),
    Field(description="a pattern over schema.table", examples=["shop.*"]),
]
"""`schema.table`, both with a shell's wildcards `*`, `?`, `[…]`; case-sensitive."""

TablePatterns = Annotated[
    tuple[TablePattern, ...],
    Field(
        description="a list of patterns over schema.table",
        examples=['[shop.*, crm.customers] or ["*.orders"]'],
    ),
]

ConfiguredKeys = Annotated[
    dict[
        TablePattern,
        Annotated[
            tuple[str, ...],
            Field(description="a list of columns", examples=["[source, number]"]),
        ],
    ],
    Field(
        description="for each table a list of the columns of its key",
        examples=["{shop.events: [source, number]}"],
    ),
]

FileNumbers = Annotated[
    tuple[int, ...], Field(description="a list of file numbers", examples=["[42]"])
]

FileAndPosition = Annotated[
    str,
    Field(
        pattern=r"^.+:[0-9]+$",
        description="FILE:POSITION, a position in the log",
        examples=["binlog.000007:154"],
    ),
]

Size = Annotated[
    ByteSize,
    Field(gt=0, description="a size in bytes", examples=["16 MiB"]),
    _SHOWN_SIZE,
]
Memory = Annotated[
    ByteSize,
    BeforeValidator(_java_memory),
    Field(description="an amount of memory", examples=["2 GiB"]),
    _SHOWN_SIZE,
]

Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    Field(ge=timedelta(0), description="a duration", examples=[_DURATIONS]),
    _SHOWN_DURATION,
]
OrForever = Annotated[
    timedelta | None,
    BeforeValidator(_duration),
    Field(description="a duration or forever", examples=[_DURATIONS]),
    _SHOWN_DURATION,
]
"""A duration, or None to keep data forever."""

Charset = Annotated[
    str | None,
    AfterValidator(_charset),
    Field(description="a MySQL character set", examples=["utf8mb4"]),
]
TimeZone = Annotated[
    str,
    AfterValidator(_time_zone),
    Field(description="a time zone", examples=["Europe/Paris or +02:00"]),
]
LetterCase = Annotated[Literal[0, 1, 2] | None, BeforeValidator(_digit)]
UntilText = Annotated[str | None, BeforeValidator(_until), Field(description=FORMS)]
FilePassword = Annotated[SecretStr, AfterValidator(_file_password)]
SparkConf = Annotated[
    dict[
        str,
        Annotated[
            str,
            BeforeValidator(_spark_value),
            Field(description="text, a number, true or false", examples=["200 or /fast/disk"]),
        ],
    ],
    Field(
        description="Spark's settings by name",
        examples=["{spark.sql.shuffle.partitions: 200}"],
    ),
]
