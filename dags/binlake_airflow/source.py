"""A source as its file tells: Binlake's own settings, and in the section `airflow` its DAGs'."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import yaml
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowTimetableInvalid
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

SECTION = "airflow"
ANY_POOL = "default_pool"
"""Airflow's own, of tasks that name none."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


_EXPECTED = {
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number, such as 3"),
    **dict.fromkeys(("dict_type", "model_type"), "keys with values"),
    "string_type": "text (a number goes in quotes)",
}
"""By pydantic's name of an error: what is expected."""


class SourceError(ValueError):
    """A source's file cannot be used; the text says which and why."""


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(
    r"\s*(\d{1,5})\s*(s|m|h|d|secs?|seconds?|mins?|minutes?|hours?|days?)\s*", re.IGNORECASE
)


def _duration(value: Any) -> Any:
    """`30 seconds`, `5 minutes`, `4 hours`, `2 days`, or `30s`, `5m`, `4h`, `2d`."""
    if isinstance(value, timedelta):
        return value
    written = _DURATION.fullmatch(str(value))
    if written is None:
        raise ValueError("is no duration, such as 30 seconds, 5 minutes, 4 hours, 2 days or 30m")
    return timedelta(**{_UNITS[written[2][0].lower()]: int(written[1])})


def _schedule(value: str | None) -> str | None:
    """Airflow's own judgement: a DAG whose schedule is none would be missing without a word."""
    try:
        # One run at a time, as the DAGs have: @continuous wants that.
        dag = DAG("schedule", schedule=value, max_active_runs=1, catchup=False)
        cast("Any", dag).validate()  # which has no types of its own
    except AirflowTimetableInvalid as error:
        raise ValueError(f"is no schedule: {error}") from error
    return value


def _pool(value: str | None) -> str | None:
    """Its one slot would be the only one of all DAGs that name no pool."""
    if value == ANY_POOL:
        raise ValueError(f"must be a pool for Binlake alone: {ANY_POOL} is everybody's")
    return value


Schedule = Annotated[str | None, AfterValidator(_schedule)]
Duration = Annotated[timedelta, BeforeValidator(_duration), Field(gt=timedelta(0))]


class Options(BaseModel):
    """The section `airflow`: how a source's DAGs run. docs/guides/airflow.md says more of each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schedule: Schedule = "*/15 * * * *"
    """When to replicate: cron, a preset such as @hourly, or null for by hand only."""
    maintenance: Schedule = None
    """When to maintain; without it, behind gold in every replication."""
    server: str | None = None
    """Airflow's connection to the source server, for the three below; without it, what the settings
    and the tasks' environment say."""
    capture: bool = False
    """Whether the server's logs are landed before bronze."""
    seed: bool = False
    """Whether tables are seeded that gold lacks, behind the capture and before bronze."""
    seed_timeout: Duration = timedelta(days=1)
    """Of each attempt of that: the first one reads whole tables."""
    verify: Schedule = None
    """When to compare gold with the server; without it, never."""
    verify_wait: Duration = timedelta(hours=1)
    """For how long that waits for the replication to come to the place that it compares."""
    connection: str | None = None
    """Airflow's connection to Spark; without it, Spark runs on the worker itself."""
    submit: dict[str, Any] = Field(default_factory=dict)
    """With a connection: more arguments of SparkSubmitOperator, as `py_files`."""
    command: str = "binlake-task"
    """Without one: the program, by name or path."""
    conf: str | None = None
    """This file as the tasks see it, where that is not as Airflow sees it."""
    pool: Annotated[str | None, AfterValidator(_pool)] = None
    """One slot, which all tasks of the source share; by default `binlake_` and its name."""
    owner: str = "binlake"
    retries: int = Field(default=3, ge=0)
    retry_delay: Duration = timedelta(minutes=2)
    timeout: Duration = timedelta(hours=4)
    """Of each attempt of a task."""
    check: Literal["fail", "warn"] = "fail"
    """What a held table or a missing file does to the last task."""


class Source(BaseModel):
    """One server's binlogs: a name, the file with its settings, and how its DAGs run."""

    model_config = ConfigDict(frozen=True)

    name: str
    file: Path
    options: Options = Options()

    @classmethod
    def read(cls, file: Path) -> Source:
        """Raises SourceError. Of Binlake's own settings only those are looked at that DAGs are made
        by: the name, and whether a capture ends."""
        try:
            text = file.read_text(encoding="utf-8")
            settings, lines = yaml.safe_load(text), _lines(text)
        except Exception as error:  # PyYAML raises whatever it comes across, also for a wrong date
            raise SourceError(f"{file} cannot be read: {_unread(error)}") from error
        name = settings.get("source") if isinstance(settings, dict) else None
        if not (isinstance(name, str) and NAME.fullmatch(name)):
            raise SourceError(
                f"{file}:{lines.get('source', 1)}: source must be a name of letters, digits, - _"
                " and ., such as source: shop, and no variable: the DAGs are called by it"
            )
        try:
            options = Options.model_validate(settings.get(SECTION) or {})
        except ValidationError as error:
            told = (f"{file}:{line}: {said}" for line, said in _mistakes(error, lines))
            raise SourceError("; ".join(told)) from error
        if options.capture and _captures_forever(settings):
            raise SourceError(
                f"{file}: {SECTION}.capture is a task that ends, and capture.forever is set: a"
                " capture that runs for ever is a service of its own"
            )
        return cls(name=name, file=file.absolute(), options=options)

    @property
    def conf(self) -> str:
        """What tasks give to `--conf`."""
        return self.options.conf or str(self.file)

    @property
    def pool(self) -> str:
        """Its one slot keeps tasks of the source's DAGs from running at the same time."""
        return self.options.pool or f"binlake_{self.name}"

    def dag_id(self, kind: str) -> str:
        """`binlake_shop_replication`: the DAGs of a source stand together."""
        return f"binlake_{self.name}_{kind}"


def _unread(error: Exception) -> str:
    """What is wrong, without what stands there: whoever sees Airflow's page may not see passwords,
    and PyYAML quotes the line."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"line {mark.line + 1} is no YAML. A value that begins with a sign needs quotes"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    told = str(error)
    plain = type(error) is ValueError and "'" not in told  # of a date, not of what is in quotes
    return told if plain else f"it is no YAML ({type(error).__name__})"


def _captures_forever(settings: dict[str, Any]) -> bool:
    section = settings.get("capture")
    return isinstance(section, dict) and bool(section.get("forever"))


def _lines(text: str) -> dict[str, int]:
    """The line of each key, and of those of the section as `airflow.key`."""
    lines: dict[str, int] = {}
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        lines[str(key.value)] = key.start_mark.line + 1
        if key.value == SECTION and isinstance(value, yaml.MappingNode):
            for inner, _ in value.value:
                lines[f"{SECTION}.{inner.value}"] = inner.start_mark.line + 1
    return lines


def _mistakes(error: ValidationError, lines: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """All that is wrong, by line, without values: whoever sees Airflow's page may not see them."""
    for one in sorted(error.errors(), key=lambda one: _line(one, lines)):
        yield _line(one, lines), f"{_key(one)} {_said(one)}"


def _line(one: Any, lines: Mapping[str, int]) -> int:
    above = ".".join([SECTION, *map(str, one["loc"][:1])])
    return lines.get(above, lines.get(SECTION, 1))


def _key(one: Any) -> str:
    return ".".join([SECTION, *map(str, one["loc"])])


def _said(one: Any) -> str:
    if one["type"] == "extra_forbidden":
        close = get_close_matches(str(one["loc"][-1]), Options.model_fields, n=1)
        meant = f"did you mean {SECTION}.{close[0]}? " if close else ""
        return f"is not a setting; {meant}there are: {', '.join(Options.model_fields)}"
    if expected := _EXPECTED.get(one["type"]):
        return f"expects {expected}"
    message: str = one["msg"].removeprefix("Value error, ")
    return message.replace("Input should be ", "expects a value that is ", 1)
