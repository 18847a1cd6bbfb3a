"""`binlake capture`: its options. What it needs is imported inside: help is instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pipeline.cli.options import Conf, Json, Log, Server, settings_of

if TYPE_CHECKING:
    from pipeline.settings import Settings


def capture(
    server: Server = None,
    to: Annotated[
        str | None, typer.Option("--to", help="The folder that binary logs are landed in.")
    ] = None,
    conf: Conf = None,
    forever: Annotated[
        bool, typer.Option("--forever", help="Until SIGTERM, instead of until caught up.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Only say how far it is, and how far behind.")
    ] = False,
    json: Json = False,
    log: Log = None,
) -> None:
    """Land a live server's binary logs in a folder, byte for byte."""
    from pipeline.observe.log import set_up
    from pipeline.observe.log_progress import LogProgress
    from pipeline.observe.progress import for_terminal
    from pipeline.source.capture.command import capture_logs, show_state, state_of

    # Before the settings are read: what is wrong with them is said as it was asked for.
    if log == "json":
        set_up("json")
    settings = _with_options(settings_of(conf, server=server, log=log), to, forever)
    if status:
        state = state_of(settings)
    else:
        told = set_up(settings.log)
        state = capture_logs(settings, LogProgress() if told else for_terminal())
    if json:
        print(state.to_json())
    elif status or settings.log == "text":
        show_state(state, Console())


def _with_options(settings: Settings, to: str | None, forever: bool) -> Settings:
    """The section `capture` with what the command line says on top."""
    given = {"to": to} if to else {}
    return settings.with_section("capture", **given, **({"forever": True} if forever else {}))
