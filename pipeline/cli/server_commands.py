"""Commands for the source server: `init`, `check`, `capture` and `seed`.

They import what they need when they run, so that help is instant.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from pipeline.cli.options import (
    ConfOption,
    InputOptions,
    JsonOption,
    LakeOptions,
    Output,
    SeededTablesOption,
    ServerOption,
    settings_of,
)
from pipeline.cli.run_commands import carry_out, result_console, set_up_run, starting


def init(
    server: ServerOption = None,
    *,
    places: InputOptions,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE", help="File to write; by default, the source's name and .yml."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    output: Output,
) -> None:
    """Write a commented settings file for a server, from what the server reports.

    With --conf, the server, how to log in there, and the places come from that file; the options
    override it. The password is not written: it comes from the environment or a file.
    """
    with starting("Querying the server …", output):
        from pipeline.run.setup.proposal import Given
        from pipeline.run.setup.settings_file import show, write_settings
        from pipeline.source.server.login import login

        settings = settings_of(**asdict(places), server=server, log=output.log)
        given = Given.of(settings)
        written = write_settings(login(settings), given, to and to.expanduser(), force=force)
    if not output.quiet:
        with result_console() as out:
            show(written, out)


def check(
    server: ServerOption = None,
    conf: ConfOption = None,
    json: JsonOption = False,
    *,
    output: Output,
) -> None:
    """Check the server; print the SQL and settings that fix each problem.

    It covers the server's settings and tables, and the account's grants. Exits with 3 if a problem
    must be fixed. With --verbose it also explains the settings that need no change.
    """
    with starting("Querying the server …", output):
        from pipeline.source import check_server
        from pipeline.source.check.report import show

        settings = settings_of(conf, server=server, log=output.log)
        report = check_server(settings)
    if json:
        print(report.to_json())
    elif not output.quiet:
        with result_console() as out:
            show(report, out, explain_ok=output.verbose)
    raise typer.Exit(report.exit_code)


def capture(
    server: ServerOption = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FOLDER",
            help="Folder that the binary logs are written to, as a path or URL.",
        ),
    ] = None,
    conf: ConfOption = None,
    forever: Annotated[
        bool,
        typer.Option(
            "--forever", help="Follow the server until SIGTERM, instead of until caught up."
        ),
    ] = False,
    status: Annotated[
        bool,
        typer.Option("--status", help="Only print position and lag of the capture."),
    ] = False,
    json: JsonOption = False,
    *,
    output: Output,
) -> None:
    """Copy a live server's binary logs into a folder, byte for byte."""
    given = {"to": to or None, "forever": forever or None}
    with starting("Starting …", output):
        section = ("capture", given)
        settings, progress, _ = set_up_run(output, section=section, conf=conf, server=server)
        from pipeline.source.capture.command import capture_logs, show_state, state_of
    state = state_of(settings) if status else capture_logs(settings, progress)
    if json:
        print(state.to_json())
    elif status or (settings.log == "text" and not output.quiet):
        with result_console() as out:
            show_state(state, out)


def seed(
    server: ServerOption = None,
    *,
    places: LakeOptions,
    tables: SeededTablesOption = None,
    dump: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Dump, or files of one table, to read instead of the server.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="FORMAT", help="Format of --from: dump, csv or parquet."),
    ] = None,
    create: Annotated[
        str | None,
        typer.Option(
            "--create",
            metavar="FILE",
            help="File with the table's CREATE TABLE, for csv and parquet.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="POSITION",
            help="Position in the log that --from was taken at, as FILE:POSITION.",
        ),
    ] = None,
    consistent: Annotated[
        bool,
        typer.Option(
            "--consistent", help="Read all tables in one consistent snapshot, in one stream."
        ),
    ] = False,
    output: Output,
) -> NoReturn:
    """Read the initial snapshot of tables from a server or a dump into the lake.

    For tables whose CREATE TABLE is not in the logs; the next run loads the rows into gold.
    """
    given = {"tables": tables, "dump": dump, "form": form, "create": create, "at": at}
    section = ("seed", {**given, "consistent": consistent or None})
    carry_out("seed", output, section=section, **asdict(places), server=server)
