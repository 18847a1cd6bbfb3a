"""The `binlake` command. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from pipeline.cli.options import (
    EXAMPLES,
    REPORTING,
    WHAT,
    WHERE,
    ConfOption,
    InputOptions,
    JsonLinesOption,
    JsonOption,
    LakeFolderOption,
    LakeOptions,
    Output,
    ServerOption,
    TablesOption,
    between,
    examples,
    joined_lines,
    settings_of,
    spread,
)
from pipeline.cli.run_commands import (
    apply,
    decode,
    ingest,
    maintain,
    print_error,
    result_console,
    retry,
    run,
    starting,
    sync,
)
from pipeline.cli.server_commands import capture, check, init, seed
from pipeline.cli.snapshot_commands import dbt_sources, read
from pipeline.errors import DONE, DONE_WITH_FAULTS, exit_code_of
from pipeline.observe.current_run import UNKNOWN, binlake_version
from pipeline.observe.interruption import handling_signals
from pipeline.observe.quantities import size
from pipeline.run.operations import explained, lake_report, lake_status, verification


class Command(TyperCommand):
    """A command, whose help page shows places first, then what to do, then how to report."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, each in its group, in the order of the groups."""
        params = without_types(super().get_params(ctx))
        for param in params:
            if param.param_type_name == "option" and not param.rich_help_panel:
                param.rich_help_panel = REPORTING if param.name == "help" else WHAT
        return sorted(params, key=lambda param: _ORDER.index(param.rich_help_panel))


class Commands(TyperGroup):
    """The commands; an interrupt ends each of them with a line."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of `binlake` itself."""
        return without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Carry out the command that the context names."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            print_error(error)
            raise typer.Exit(exit_code_of(error)) from error


_ORDER = (None, WHERE, WHAT, REPORTING)
"""Groups of a help page; arguments have none."""


def without_types(params: list[Any]) -> list[Any]:
    """Return the parameters, so that help names no Python type: flags take no value, and an
    argument has its name, `FILE...` if it can be repeated."""
    for param in params:
        if param.param_type_name == "argument":
            usage = f"{param.metavar}..." if param.nargs == -1 else param.metavar
            param.get_usage_pieces = lambda ctx, usage=usage: [usage]
            param.display_type_rich = lambda ctx: None
        elif param.is_flag:
            param.metavar = ""
    return params


_OBJECTS = 100_000
"""New objects after which Python's garbage collector runs. A command's imports create three times
as many, and keep them: at Python's own 700, collections take a tenth of a run with nothing new."""


app = typer.Typer(
    name="binlake",
    cls=Commands,
    help="Replicate MySQL and MariaDB binary logs into Delta tables.",
    epilog=examples(*EXAMPLES["binlake"]),
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(asked: bool) -> None:
    if asked:
        version = binlake_version()
        installed = version != UNKNOWN
        print(
            f"binlake {version}"
            if installed
            else "binlake, not installed: it runs from its sources"
        )
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Options of `binlake` itself."""


def status(
    lake: LakeFolderOption = None,
    conf: ConfOption = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Exit with 3 if a table is held or a file is missing."),
    ] = False,
    json: JsonOption = False,
    *,
    output: Output,
) -> None:
    """Show problems, lag, positions and held tables of a lake, and the last run.

    With --verbose it lists every table with its LSN and its gold path.
    """
    with starting("Reading the lake …", output) as progress:
        from pipeline.cli.show import show_status

        found = lake_status(settings_of(conf, lake=lake, log=output.log), progress)
    if json:
        print(found.to_json())
    elif not output.quiet:
        with result_console() as out:
            show_status(found, out, every_table=output.verbose)
    if check and not found.clean:
        raise typer.Exit(DONE_WITH_FAULTS)


def runs(
    lake: LakeFolderOption = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="NAME", help="List only runs of this source."),
    ] = None,
    last: Annotated[
        int,
        typer.Option(
            "--last",
            callback=between(1),
            metavar="NUMBER",
            help="List the newest NUMBER runs, at least 1.",
        ),
    ] = 20,
    conf: ConfOption = None,
    json: JsonLinesOption = False,
    *,
    output: Output,
) -> None:
    """List the last runs: duration, bytes, rows, lag, faults and errors."""
    with starting("Reading the lake …", output) as progress:
        from pipeline.cli.show_runs import show_runs
        from pipeline.lake.ledger.ledger_table import batches
        from pipeline.lake.ledger.run_store import read_runs
        from pipeline.lake.tables.choice import tables_of
        from pipeline.run.preflight import no_lake, require_lake
        from pipeline.spark.session import spark_for

        settings = require_lake(settings_of(conf, lake=lake, log=output.log))
        spark, place = spark_for(settings, progress), settings.layout
        found = read_runs(spark, place, source=source, last=last)
        if not found and not tables_of(spark, place).exists(batches(place)):
            raise no_lake(settings)
    if json:
        for record in found:
            print(record.to_json())
    elif not output.quiet:
        with result_console() as out:
            show_runs(found, settings.lake, out)


def report(
    html: Annotated[
        str,
        typer.Option("--html", metavar="FILE", help="File to write the page to, as a path or URL."),
    ],
    lake: LakeFolderOption = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="NAME", help="Show only this source."),
    ] = None,
    conf: ConfOption = None,
    days: Annotated[
        int,
        typer.Option(
            "--days",
            callback=between(1, 90),
            metavar="NUMBER",
            help="Show runs and schema changes of the last NUMBER days, 1 to 90.",
        ),
    ] = 30,
    *,
    output: Output,
) -> None:
    """Write a page of the lake: one HTML file with charts, which needs no network."""
    with starting("Reading the lake …", output) as progress:
        settings = settings_of(conf, lake=lake, log=output.log)
        written = lake_report(settings, html, progress, days=days, source=source)
    if not output.quiet:
        print(f"{html}: {size(written)}")


def verify(
    places: LakeOptions,
    *,
    tables: TablesOption = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="TARGET",
            help="Compare with a server (mysql://user@host:port, or 'server' for the one in the"
            " settings or BINLAKE_SERVER), or with a file that the script of --script wrote.",
        ),
    ] = None,
    wait: Annotated[
        int,
        typer.Option(
            "--wait",
            callback=between(0),
            metavar="SECONDS",
            help="How long to wait for a replica to catch up with gold, and then for gold to"
            " catch up with the server; 0: do not wait.",
        ),
    ] = 600,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script",
            metavar="FILE",
            help="Write the script that creates the file for --against, and exit.",
        ),
    ] = None,
    json: JsonOption = False,
    output: Output,
) -> None:
    """Compute the checksum and the row count of each gold table; compare them with a server."""
    if script is not None:
        from pipeline.verify.script import write_script

        write_script(script.expanduser())
        return
    with starting("Verifying gold …", output) as progress:
        from pipeline.settings.server import is_server
        from pipeline.verify.report import show

        server = against if against is not None and is_server(against) else None
        settings = settings_of(**asdict(places), server=server, log=output.log)
        chosen = tuple(tables or ())
        found = verification(settings, progress, tables=chosen, against=against, wait=wait)
    if json:
        print(found.to_json())
    elif not output.quiet:
        with result_console() as out:
            show(found, out)
    raise typer.Exit(DONE if found.equal else DONE_WITH_FAULTS)


def inspect(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Binlog files, compressed or not.")
    ],
    rows: Annotated[bool, typer.Option("--rows", help="Show decoded row images.")] = False,
    keyring: Annotated[
        str | None,
        typer.Option(
            "--keyring", metavar="FILE", help="Keyring file of the server, for encrypted logs."
        ),
    ] = None,
    conf: ConfOption = None,
    json: JsonLinesOption = False,
    *,
    output: Output,
) -> None:
    """Show the events of binlog files, or their rows; needs no lake."""
    files = [file.expanduser() for file in files]
    with starting(f"Reading {files[0].name} …", output):
        from pipeline.cli.inspect import inspect_files
        from pipeline.schema_history.timeline.logged_statement import TimelineOptions
        from pipeline.source.logs.ciphers import read_keys

        settings = settings_of(conf, log=output.log)
        if keyring is not None:
            settings = settings.with_section("encryption", keyring=keyring)
        options = TimelineOptions(
            system_time_zone=settings.system_time_zone,
            default_charset=settings.default_charset,
            lower_case_table_names=settings.lower_case_table_names,
        )
        keys = read_keys(settings.encryption)
    code = inspect_files(files, rows=rows, json=json, output=output, keys=keys, options=options)
    raise typer.Exit(code)


def config(
    places: InputOptions, *, server: ServerOption = None, json: JsonOption = False, output: Output
) -> None:
    """Validate settings and print the effective ones, secrets as ***.

    Needs neither Spark nor a server. Prints every mistake, and exits with 2 if there is one.
    With --quiet it prints only mistakes.
    """
    with starting("Reading the settings …", output):
        from pipeline.settings.conf_file import as_json, as_yaml

        settings = settings_of(**asdict(places), server=server, log=output.log)
    if json or not output.quiet:
        typer.echo(as_json(settings) if json else as_yaml(settings), nl=json)


_GROUPS: Mapping[str, Sequence[Callable[..., None]]] = {
    "Replicate": (sync, run, ingest, decode, apply, retry),
    "Source server": (init, check, capture, seed),
    "Inspect a lake or a log": (status, runs, report, verify, read, dbt_sources, inspect),
    "Settings and upkeep": (config, maintain),
}
"""All commands, as `binlake --help` groups them."""

for _group, _commands in _GROUPS.items():
    for _command in _commands:
        _name = _command.__name__.replace("_", "-")
        _epilog = examples(*EXAMPLES[_name])
        _help = joined_lines(getdoc(_command) or "")
        _registered = app.command(
            _name, cls=Command, help=_help, rich_help_panel=_group, epilog=_epilog
        )
        _registered(spread(_command))


def main(*command: str) -> None:
    """Run the command line: an error is a sentence and an exit code, with a stack trace if it is
    unexpected.

    `command` comes before the process's own arguments: a layer's job.py passes its own.
    """
    gc.set_threshold(_OBJECTS)
    with handling_signals(print_error) as interruption:
        code = DONE
        try:
            app([*command, *sys.argv[1:]], prog_name="binlake")
        except SystemExit as ended:
            code = int(ended.code or DONE)
        except Exception as error:
            if interruption.error is None:
                reported = explained(error)
                print_error(reported)
                code = exit_code_of(reported)
        if interruption.error is not None:
            interruption.finish(exit_code_of(interruption.error))
        if interruption.leaves_threads:
            interruption.finish(code)
        sys.exit(code)
