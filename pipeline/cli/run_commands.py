"""Commands that are runs: their settings and log, a session that has what they need, their end."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console

from pipeline.cli.options import settings_of
from pipeline.errors import Interrupted, exit_code_of, has_sentence, sentence_of
from pipeline.run.operations import session_for

if TYPE_CHECKING:
    from pipeline.observe import Progress
    from pipeline.settings import Settings


def carry_out(
    command: str,
    conf: Path | None,
    *,
    change: Callable[[Settings], Settings] | None = None,
    **options: str | list[str] | None,
) -> NoReturn:
    """Carry out a command, record it, and leave with the exit code that tells how it went.

    `change`: what further options make of the settings.
    """
    from pipeline.cli.show import show_problems, show_reports
    from pipeline.run import run_command
    from pipeline.run.commands import exit_code

    settings, progress, told = set_up_run(conf, **options)
    settings = change(settings) if change else settings
    spark, settings = session_for(command, settings)
    try:
        reports = run_command(spark, settings, progress, command)
    except (Exception, KeyboardInterrupt) as error:
        if not told:
            raise
        raise typer.Exit(exit_code_of(error)) from error
    if settings.log == "text":
        show_reports(reports, settings, Console())
    if not told:
        show_problems(reports, Console(stderr=True))
    raise typer.Exit(exit_code(reports))


def set_up_run(
    conf: Path | None, **options: str | list[str] | None
) -> tuple[Settings, Progress, bool]:
    """The settings, with the log as they ask for it; whether its lines tell everything."""
    from pipeline.observe.memory import keep_freed

    keep_freed()
    from pipeline.observe.log import set_up
    from pipeline.observe.log_progress import LogProgress
    from pipeline.observe.progress import for_terminal

    # Before the settings are read: what is wrong with them is said as it was asked for.
    if options["log"] == "json":
        set_up("json")
    settings = settings_of(conf, **options)
    told = set_up(settings.log)
    return settings, LogProgress() if told else for_terminal(), told


def tell(error: BaseException) -> None:
    """Say an error where it is read: as a line, or as text with its stack trace if it is odd."""
    from pipeline.observe import redact, say
    from pipeline.observe.log import says_json

    odd = isinstance(error, Exception) and not has_sentence(error)
    if isinstance(error, Interrupted):
        error.told = True
    if says_json():
        said, trace = sentence_of(error), error if odd else None
        mistakes = getattr(error, "mistakes", ())
        fields = {"mistakes": [str(mistake) for mistake in mistakes]} if mistakes else {}
        say(
            "failed",
            said,
            level=logging.ERROR,
            trace=trace,
            exit_code=exit_code_of(error),
            **fields,
        )
    elif odd:
        print(redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    else:
        said = sentence_of(error) if isinstance(error, KeyboardInterrupt) else str(error)
        print(f"binlake: {redact(said)}", file=sys.stderr)
