"""`binlake check`, which queries the source server. It imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from pipeline.cli.options import (
    REPORTING,
    Conf,
    ExitCodeOnly,
    Json,
    Server,
    settings_of,
)
from pipeline.cli.run_commands import starting


def check(
    server: Server = None,
    conf: Conf = None,
    json: Json = False,
    quiet: ExitCodeOnly = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Explain the settings that are fit, too.",
            rich_help_panel=REPORTING,
        ),
    ] = False,
) -> None:
    """Check the source server's settings, tables and grants; print what to change.

    Exits with 3 if something is unfit.
    """
    with starting("Asking the server …", quiet=quiet):
        from pipeline.source import check_server
        from pipeline.source.check.report import show
        from pipeline.source.server.login import login

        settings = settings_of(conf, server=server)
        report = check_server(login(settings), settings)
    if json:
        print(report.to_json())
    elif not quiet:
        show(report, Console(), explain_fit=verbose)
    raise typer.Exit(report.exit_code)
