"""Commands that ask the source server itself. What they need is imported inside of them."""

from __future__ import annotations

from collections.abc import Callable

import typer

from pipeline.cli_capture import capture


def register(app: typer.Typer) -> None:
    """Add them to the `binlake` command."""
    for command in COMMANDS:
        app.command()(command)


COMMANDS: tuple[Callable[..., None], ...] = (capture,)
