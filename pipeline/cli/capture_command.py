"""`binlake capture`: its options. Modules are imported when it runs, so that help is instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pipeline.cli.options import Conf, Json, Log, Output, Quiet, Server, Verbose
from pipeline.cli.run_commands import set_up_run, starting

if TYPE_CHECKING:
    from pipeline.settings import Settings


def capture(
    server: Server = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FOLDER",
            help="Folder that the binary logs are written to, as a path or URL.",
        ),
    ] = None,
    conf: Conf = None,
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
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Copy a live server's binary logs into a folder, byte for byte."""
    output = Output(log, quiet, verbose)
    with starting("Starting …", quiet=quiet or log == "json"):
        settings, progress, _ = set_up_run(conf, output, server=server)
        settings = _with_options(settings, to, forever)
        from pipeline.source.capture.command import capture_logs, show_state, state_of
    state = state_of(settings) if status else capture_logs(settings, progress)
    if json:
        print(state.to_json())
    elif status or (settings.log == "text" and not quiet):
        show_state(state, Console())


def _with_options(settings: Settings, to: str | None, forever: bool) -> Settings:
    """Return the settings with the command line's options in the section `capture`."""
    given = {"to": to} if to else {}
    return settings.with_section("capture", **given, **({"forever": True} if forever else {}))
