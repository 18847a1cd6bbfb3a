"""A source's file: Binlake's settings, and those of its DAGs in the section `airflow`."""

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

from binlake_airflow.settings_check import mistakes_in

SECTION = "airflow"
DEFAULT_POOL = "default_pool"
"""Airflow's pool for tasks that name none."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


_EXPECTED = {
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number, such as 3"),
    **dict.fromkeys(("dict_type", "model_type"), "keys with values"),
    "string_type": "text (a number goes in quotes)",
}
"""The expected value by pydantic's error type."""


class SourceError(ValueError):
    """A source's file that cannot be used.

    Each problem names the file, the line, the key, and what to write instead.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(
    r"\s*(\d{1,5})\s*(s|m|h|d|secs?|seconds?|mins?|minutes?|hours?|days?)\s*", re.IGNORECASE
)


def _duration(value: Any) -> Any:
    """Parse `30 seconds`, `5 minutes`, `4 hours`, `2 days`, or `30s`, `5m`, `4h`, `2d`."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.fullmatch(str(value))
    if match is None:
        raise ValueError("is not a duration, such as 30 seconds, 5 minutes, 4 hours, 2 days or 30m")
    return timedelta(**{_UNITS[match[2][0].lower()]: int(match[1])})


def _schedule(value: str | None) -> str | None:
    """Validate with Airflow: a DAG with an invalid schedule would silently be missing."""
    try:
        # max_active_runs=1 as in our DAGs, because @continuous requires it.
        dag = DAG("schedule", schedule=value, max_active_runs=1, catchup=False)
        cast("Any", dag).validate()  # untyped in Airflow
    except AirflowTimetableInvalid as error:
        raise ValueError(f"is not a schedule: {error}") from error
    return value


def _pool(value: str | None) -> str | None:
    """Refuse the default pool: reduced to one slot, it would block all other DAGs."""
    if value == DEFAULT_POOL:
        raise ValueError(
            f"must be a pool for Binlake alone: {DEFAULT_POOL} is shared by all other tasks"
        )
    return value


Schedule = Annotated[str | None, AfterValidator(_schedule)]
Duration = Annotated[timedelta, BeforeValidator(_duration), Field(gt=timedelta(0))]


class Options(BaseModel):
    """The section `airflow`: the settings of a source's DAGs. See docs/guides/airflow.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schedule: Schedule = "*/15 * * * *"
    """Schedule of the replication: cron, a preset such as @hourly, or null for manual runs only."""
    task_per_layer: bool = False
    """Make bronze, silver and gold a task each; by default, one task runs all three."""
    maintenance: Schedule = "@daily"
    """Schedule of the maintenance, a DAG of its own; null for manual runs only."""
    server: str | None = None
    """Airflow's connection to the source server, for capture, seed and verify; null: the server of
    the settings and the tasks' environment."""
    capture: bool = False
    """Capture the server's logs before bronze."""
    seed: bool = False
    """Seed tables that gold lacks, after the capture and before bronze."""
    seed_timeout: Duration = timedelta(days=1)
    """Timeout of each attempt of the seed, which reads whole tables."""
    verify: Schedule = None
    """Schedule of the comparison of gold with the server; null: never."""
    verify_wait: Duration = timedelta(hours=1)
    """Longest time that verify waits for gold to catch up with the server."""
    report: str | None = None
    """Path or URL of the page of the lake, written after each replication; null: no page.
    The worker needs the extra `report`."""
    report_url: str | None = None
    """URL at which people open that page, for the link in the DAGs' documentation."""
    connection: str | None = None
    """Airflow's connection to Spark; null: Spark runs on the worker itself."""
    submit: dict[str, Any] = Field(default_factory=dict)
    """With a connection: more arguments of SparkSubmitOperator, such as `py_files`."""
    command: str = "binlake-task"
    """Without a connection: the program's name or path."""
    conf: str | None = None
    """The path of this file in the tasks, if it differs from the path in Airflow."""
    pool: Annotated[str | None, AfterValidator(_pool)] = None
    """A pool with one slot, shared by all tasks of the source; null: `binlake_` and its name."""
    owner: str = "binlake"
    """Owner of the tasks in Airflow."""
    retries: int = Field(default=3, ge=0)
    """Retries of a failed task."""
    retry_delay: Duration = timedelta(minutes=2)
    """Delay before the first retry; it doubles with each one, up to 30 minutes or to this
    delay if it is longer."""
    timeout: Duration = timedelta(hours=4)
    """Timeout of each attempt of a task."""
    check: Literal["fail", "warn"] = "fail"
    """Effect of a held table or a missing file on the last task: fail, or skip with a warning."""


class Source(BaseModel):
    """A source of binlogs: its name, its settings file, and the settings of its DAGs."""

    model_config = ConfigDict(frozen=True)

    name: str
    file: Path
    options: Options = Options()

    @classmethod
    def read(cls, file: Path) -> Source:
        """Read a source's file. Raises SourceError.

        Binlake's own settings are checked as far as `settings_check` can; the commands check them
        all.
        """
        try:
            text = file.read_text(encoding="utf-8")
            settings, lines = yaml.safe_load(text), _lines(text)
        except Exception as error:  # PyYAML raises any type, such as ValueError for a wrong date
            raise SourceError(f"{file} cannot be read: {_read_error(error)}") from error
        name = settings.get("source") if isinstance(settings, dict) else None
        if not (isinstance(name, str) and NAME.fullmatch(name)):
            raise SourceError(
                f"{file}:{lines.get('source', 1)}: source must be a name of letters, digits, - _"
                " and ., such as source: shop, and not a variable: it is part of the DAGs' ids"
            )
        try:
            options = Options.model_validate(settings.get(SECTION) or {})
        except ValidationError as error:
            problems = (f"{file}:{line}: {problem}" for line, problem in _problems(error, lines))
            raise SourceError(*problems) from error
        if options.capture and _captures_forever(settings):
            raise SourceError(
                f"{file}: {SECTION}.capture and capture.forever are both set, but a task must end:"
                " run `binlake capture --forever` as a service instead, or unset capture.forever"
            )
        found = mistakes_in(file, command=options.command, connection=options.connection)
        if found:
            raise SourceError(*found)
        return cls(name=name, file=file.absolute(), options=options)

    @property
    def conf(self) -> str:
        """The settings file that tasks pass as `--conf`."""
        return self.options.conf or str(self.file)

    @property
    def pool(self) -> str:
        """The pool whose one slot keeps tasks of the source's DAGs from running concurrently."""
        return self.options.pool or f"binlake_{self.name}"

    def dag_id(self, kind: str) -> str:
        """Return `binlake_shop_replication`: the DAGs of a source sort together."""
        return f"binlake_{self.name}_{kind}"


def _read_error(error: Exception) -> str:
    """Describe the error without the file's text: PyYAML quotes the line, which may hold a
    password, and the description is shown on Airflow's pages."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return (
            f"line {mark.line + 1} is not valid YAML. A value that begins with a special character"
            " needs quotes"
        )
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    message = str(error)
    # An invalid date's message has no value; one with quotes does.
    plain = type(error) is ValueError and "'" not in message
    return message if plain else f"it is not valid YAML ({type(error).__name__})"


def _captures_forever(settings: dict[str, Any]) -> bool:
    section = settings.get("capture")
    return isinstance(section, dict) and bool(section.get("forever"))


def _lines(text: str) -> dict[str, int]:
    """Return the line of each top-level key, and of the section's keys as `airflow.key`."""
    lines: dict[str, int] = {}
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        lines[str(key.value)] = key.start_mark.line + 1
        if key.value == SECTION and isinstance(value, yaml.MappingNode):
            for inner, _ in value.value:
                lines[f"{SECTION}.{inner.value}"] = inner.start_mark.line + 1
    return lines


def _problems(error: ValidationError, lines: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Yield all problems with their lines; never values, as Airflow's pages show the problems."""
    for detail in sorted(error.errors(), key=lambda detail: _line(detail, lines)):
        yield _line(detail, lines), f"{_key(detail)} {_problem(detail)}"


def _line(detail: Any, lines: Mapping[str, int]) -> int:
    key = ".".join([SECTION, *map(str, detail["loc"][:1])])
    return lines.get(key, lines.get(SECTION, 1))


def _key(detail: Any) -> str:
    return ".".join([SECTION, *map(str, detail["loc"])])


def _problem(detail: Any) -> str:
    if detail["type"] == "extra_forbidden":
        close = get_close_matches(str(detail["loc"][-1]), Options.model_fields, n=1)
        if close:
            return f"is not a setting; did you mean {SECTION}.{close[0]}?"
        return f"is not a setting; settings are: {', '.join(Options.model_fields)}"
    if expected := _EXPECTED.get(detail["type"]):
        return f"expects {expected}"
    message: str = detail["msg"].removeprefix("Value error, ")
    return message.replace("Input should be ", "expects a value that is ", 1)
