"""Options that several commands share, examples of each command, and the settings they select."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pipeline.settings import Settings

WHERE = "Where"
WHAT = "What"
REPORTING = "Reporting"
"""Groups of options: the places a command works on, what it does there, and how it reports."""


def _where(name: str, metavar: str, text: str) -> Any:
    """Return an option that names a place."""
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=WHERE)


def _tables(text: str) -> Any:
    """Return the option that selects tables."""
    return typer.Option("--table", metavar="PATTERN", help=text)


def between(least: int, most: int | None = None) -> Callable[[int], int]:
    """Return a callback that refuses numbers below `least` or above `most`; help pages show a range
    of typer's as symbols."""

    def checked(number: int) -> int:
        if number < least:
            raise typer.BadParameter(f"{number} is less than {least}.")
        if most is not None and number > most:
            raise typer.BadParameter(f"{number} is more than {most}.")
        return number

    return checked


def reporting(text: str, *names: str) -> Any:
    """Return a flag that chooses how a command reports."""
    return typer.Option(*names, help=text, rich_help_panel=REPORTING)


SourceOption = Annotated[
    str | None,
    _where("--source", "NAME", "Name of the source, the server that wrote the binlogs."),
]
BinlogsOption = Annotated[
    list[str] | None,
    _where("--binlogs", "PATH", "Binlog file, folder or glob, as a path or URL; repeatable."),
]
LakeFolderOption = Annotated[
    str | None, _where("--lake", "FOLDER", "Root folder of the lake, as a path or URL.")
]
ConfOption = Annotated[
    Path | None,
    _where("--conf", "FILE", "Settings in YAML; options on the command line override them."),
]
ServerOption = Annotated[
    str | None,
    _where(
        "--server",
        "URL",
        "Source server, as mysql://user@host:port. The password comes from the settings or the"
        " environment.",
    ),
]
TablesOption = Annotated[
    list[str] | None, _tables("Only tables whose schema.table matches; repeatable.")
]
RefreshedTablesOption = Annotated[
    list[str] | None,
    _tables("With --full-refresh: only tables whose schema.table matches; repeatable."),
]
SeededTablesOption = Annotated[
    list[str] | None,
    _tables("Tables whose schema.table matches; repeatable. By default, those that gold lacks."),
]
LogOption = Annotated[
    str | None,
    typer.Option(
        "--log",
        envvar="BINLAKE_LOG",
        metavar="FORMAT",
        help="Log format on standard error: text (bars on a terminal) or json (an object per"
        " line).",
        show_envvar=True,
        rich_help_panel=REPORTING,
    ),
]
QuietOption = Annotated[
    bool, reporting("Print only warnings and errors, and no report.", "--quiet", "-q")
]
VerboseOption = Annotated[
    bool,
    reporting("Print every log line, also on a terminal, instead of bars.", "--verbose", "-v"),
]
JsonOption = Annotated[bool, reporting("Print JSON instead of text.", "--json")]
JsonLinesOption = Annotated[bool, reporting("Print one JSON object per line.", "--json")]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="POSITION",
        help="Apply up to this position: a time (2026-11-22T10:00:00Z), a GTID, FILE:POSITION or"
        " an LSN.",
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Only list what this command would do, by file and table.",
    ),
]
FullRefreshOption = Annotated[
    bool,
    typer.Option(
        "--full-refresh",
        help="Rebuild from the previous layer; continues a full refresh that was interrupted.",
    ),
]
EveryOption = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="DURATION",
        help="Keep running, and start a round this often (30s, 5m; 0s: back to back). Stops after"
        " the current round on SIGTERM or Ctrl-C.",
    ),
]


EXAMPLES: Mapping[str, Sequence[str]] = {
    "binlake": (
        "binlake run --source shop --binlogs /backup/binlogs --lake /data/lake",
        "binlake status --lake /data/lake",
        "binlake run --help",
    ),
    "run": (
        "binlake run --source shop --binlogs /backup/binlogs --lake /data/lake",
        "binlake run --conf conf/shop.yml --until 2026-11-22T10:00:00Z",
        "binlake run --conf conf/shop.yml --dry-run",
    ),
    "sync": (
        "binlake sync --server mysql://binlake@db --to /data/logs --lake /data/lake",
        "binlake sync --conf conf/shop.yml --every 30s",
    ),
    "ingest": ("binlake ingest --source shop --binlogs /backup/binlogs --lake /data/lake",),
    "decode": ("binlake decode --source shop --lake /data/lake",),
    "apply": (
        "binlake apply --source shop --lake /data/lake",
        "binlake apply --conf conf/shop.yml --full-refresh --table shop.orders",
    ),
    "retry": ("binlake retry --source shop --lake /data/lake",),
    "init": ("binlake init --server mysql://binlake@db:3306 --to shop.yml",),
    "check": ("binlake check --server mysql://binlake@db:3306",),
    "capture": (
        "binlake capture --server mysql://binlake@db:3306 --to /backup/binlogs",
        "binlake capture --to /backup/binlogs --status",
    ),
    "seed": (
        "binlake seed --server mysql://binlake@db:3306 --lake /data/lake",
        "binlake seed --from shop.sql.gz --source shop --lake /data/lake",
    ),
    "status": ("binlake status --lake /data/lake",),
    "runs": ("binlake runs --lake /data/lake --source shop --last 5",),
    "report": ("binlake report --lake /data/lake --html /var/www/lake.html",),
    "read": (
        "binlake read --lake /data/lake --to /data/copy",
        "binlake read --lake /data/lake --at 2026-11-22T10:00:00Z --to /data/copy",
    ),
    "dbt-sources": ("binlake dbt-sources --lake /data/lake --to models/sources.yml",),
    "verify": (
        "binlake verify --lake /data/lake --table 'shop.*'",
        "binlake verify --lake /data/lake --against mysql://binlake@db:3306",
    ),
    "inspect": (
        "binlake inspect /backup/binlogs/binlog.000001",
        "binlake inspect --rows --json /backup/binlogs/binlog.000001",
    ),
    "config": ("binlake config --conf conf/shop.yml",),
    "maintain": ("binlake maintain --source shop --lake /data/lake --dry-run",),
}
"""Commands to copy, at the end of each help page, by command; each fits a line of 80 columns."""


@dataclass(frozen=True, slots=True)
class LakeOptions:
    """The options of a command that select the source in a lake that it works on."""

    source: SourceOption = None
    lake: LakeFolderOption = None
    conf: ConfOption = None


@dataclass(frozen=True, slots=True)
class InputOptions(LakeOptions):
    """The options of a run, which also select its input."""

    binlogs: BinlogsOption = None


@dataclass(frozen=True, slots=True)
class Output:
    """The options of every command that select how it reports: the format of its log lines (None:
    from the settings) and how many.

    Raises typer.BadParameter if it is to be both quiet and verbose.
    """

    log: LogOption = None
    quiet: QuietOption = False
    verbose: VerboseOption = False

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise typer.BadParameter("--quiet and --verbose exclude each other.")

    @property
    def silent(self) -> bool:
        """True if a terminal shows no progress before the settings are known."""
        return self.quiet or self.log == "json"


def examples(*commands: str) -> str:
    """Return the end of a help page: a heading and commands, one per line."""
    title = "Examples" if len(commands) > 1 else "Example"
    return "\n".join([f"[bold]{title}[/bold]", *commands])


def joined_lines(text: str) -> str:
    """Return a text with each paragraph on a line of its own, which a help page wraps."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the fields of its dataclass parameters as parameters of their own, of
    which typer makes options."""
    own = signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: one.annotation for name, one in own.items() if is_dataclass(one.annotation)
    }
    options: list[Parameter] = []
    for name, parameter in own.items():
        inside = [parameter]
        if name in groups:
            inside = [*signature(groups[name], eval_str=True).parameters.values()]
        options += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in inside]

    @wraps(command)
    def spread_command(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    vars(spread_command)["__signature__"] = Signature(options)
    spread_command.__annotations__ = {one.name: one.annotation for one in options}
    return spread_command


def settings_of(conf: Path | None = None, **options: str | list[str] | None) -> Settings:
    """Load the settings that a command works with."""
    from pipeline.settings import Settings
    from pipeline.spark.spark_submit import apply_to_process

    return apply_to_process(Settings.load(conf and conf.expanduser(), **options))
