"""Commands that ask the source server itself. What they need is imported inside of them."""

from __future__ import annotations

from collections.abc import Callable

import typer
from rich.console import Console

from pipeline.cli.capture_command import capture
from pipeline.cli.options import Conf, Json, Server, settings_of
from pipeline.cli.seed_command import seed


def check(
    server: Server = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Ask the source server, setting by setting, whether it is fit, and what to change."""
    from pipeline.source import check_server
    from pipeline.source.check.report import show
    from pipeline.source.server.login import login

    settings = settings_of(conf, server=server)
    report = check_server(login(settings), settings)
    if json:
        print(report.to_json())
    else:
        show(report, Console())
    raise typer.Exit(report.exit_code)


COMMANDS: tuple[Callable[..., None], ...] = (check, capture, seed)


def register(app: typer.Typer) -> None:
    """Add them to the `binlake` command."""
    for command in COMMANDS:
        app.command()(command)
