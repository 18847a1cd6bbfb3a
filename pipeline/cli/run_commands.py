"""Commands that are runs, and how each is carried out: settings, log, Spark, report, exit code."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from pipeline.cli.options import (
    Binlogs,
    Conf,
    FullRefresh,
    LakeFolder,
    Log,
    Output,
    Quiet,
    Source,
    Until,
    Verbose,
    settings_of,
)
from pipeline.errors import (
    Interrupted,
    exit_code_of,
    has_sentence,
    sentence_of,
)
from pipeline.run.operations import session_for

if TYPE_CHECKING:
    from pipeline.observe import Progress
    from pipeline.settings import Settings


def run(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    until: Until = None,
    full_refresh: FullRefresh = False,
    log: Log = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Ingest, decode and apply what is new: from binlog files to gold tables."""
    command = "run --full-refresh" if full_refresh else "run"
    places: dict[str, Any] = {"source": source, "binlogs": binlogs, "lake": lake}
    carry_out(command, conf, Output(log, quiet, verbose), **places, until=until)


def ingest(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    log: Log = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Store new binlog files in bronze, byte for byte."""
    places: dict[str, Any] = {"source": source, "binlogs": binlogs, "lake": lake}
    carry_out("ingest", conf, Output(log, quiet, verbose), **places)


def decode(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="POSITION",
            help="With --full-refresh: refuse to start if gold cannot stop there.",
        ),
    ] = None,
    full_refresh: FullRefresh = False,
    log: Log = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Decode what is in bronze into typed change rows in silver."""
    if until is not None and not full_refresh:
        raise typer.BadParameter("--until is for gold: with decode it needs --full-refresh.")
    command = "decode --full-refresh" if full_refresh else "decode"
    places: dict[str, Any] = {"source": source, "binlogs": binlogs, "lake": lake}
    carry_out(command, conf, Output(log, quiet, verbose), **places, until=until)


def apply(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    until: Until = None,
    full_refresh: FullRefresh = False,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="PATTERN",
            help="With --full-refresh: only tables whose schema.table matches; repeatable.",
        ),
    ] = None,
    log: Log = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Apply changes in silver to the gold tables, and publish a snapshot."""
    if table and not full_refresh:
        raise typer.BadParameter("--table selects tables to rebuild: it needs --full-refresh.")
    command = "apply --full-refresh" if full_refresh else "apply"
    places: dict[str, Any] = {"source": source, "binlogs": binlogs, "lake": lake}
    output = Output(log, quiet, verbose)
    carry_out(command, conf, output, **places, until=until, refresh_tables=table)


def retry(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    log: Log = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Decode and apply what a fault held, once its cause is fixed."""
    places: dict[str, Any] = {"source": source, "binlogs": binlogs, "lake": lake}
    carry_out("retry", conf, Output(log, quiet, verbose), **places)


def maintain(
    source: Source = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="List what would be done and what blocks the rest."),
    ] = False,
    log: Log = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Apply retention, and compact and vacuum the lake's tables."""
    output = Output(log, quiet, verbose)
    if not dry_run:
        carry_out("maintain", conf, output, source=source, lake=lake)
    with starting("Starting …", quiet=quiet or log == "json"):
        settings, progress, _ = set_up_run(conf, output, source=source, lake=lake)
        from pipeline.cli.show import show_preview
        from pipeline.maintenance import run as look
        from pipeline.observe import say

    spark, settings = session_for("maintain", settings, progress)
    report = look(spark, settings, progress, dry_run=True)
    if settings.log == "text":
        if not quiet:
            show_preview(report, settings, Console())
        return
    for line in report.notes:
        say("note", line, layer=report.layer)


def carry_out(
    command: str,
    conf: Path | None,
    output: Output,
    *,
    change: Callable[[Settings], Settings] | None = None,
    **options: str | list[str] | None,
) -> NoReturn:
    """Run a command, record it, report it, and exit with its code.

    `change`: what further options make of the settings.
    """
    with starting("Starting …", quiet=output.quiet or output.log == "json"):
        from pipeline.observe.memory import keep_freed

        keep_freed()
        settings, progress, logged = set_up_run(conf, output, **options)
        settings = change(settings) if change else settings
        from pipeline.cli.show import show_problems, show_reports
        from pipeline.run import run_command
        from pipeline.run.commands import exit_code

    spark, settings = session_for(command, settings, progress)
    try:
        reports = run_command(spark, settings, progress, command)
    except (Exception, KeyboardInterrupt) as error:
        if not logged:
            raise
        raise typer.Exit(exit_code_of(error)) from error
    if not logged:
        show_problems(reports, Console(stderr=True))
    if settings.log == "text" and not output.quiet:
        show_reports(reports, settings, Console())
    raise typer.Exit(exit_code(reports))


@contextmanager
def starting(name: str, *, quiet: bool = False) -> Iterator[Progress]:
    """Show `name` on a terminal until the block ends, unless `quiet`; yields what further work in
    the block reports to.

    The modules that a command imports take a second to load.
    """
    from pipeline.observe.progress import QuietProgress, for_terminal

    progress = QuietProgress() if quiet else for_terminal()
    with progress.task(name):
        yield progress


def set_up_run(
    conf: Path | None, output: Output, **options: str | list[str] | None
) -> tuple[Settings, Progress, bool]:
    """Load the settings and set up the log; return them, the progress, and True if the log's lines
    include faults, gaps and the error that ends the run."""
    from pipeline.observe.log import set_up
    from pipeline.observe.progress import LogProgress, QuietProgress, for_terminal

    # Before the settings are read: mistakes in them are reported in the format asked for.
    if output.log == "json":
        set_up("json")
    settings = settings_of(conf, log=output.log, **options)
    logged = set_up(settings.log, quiet=output.quiet, verbose=output.verbose)
    if output.quiet:
        return settings, QuietProgress(), logged
    return settings, LogProgress() if logged else for_terminal(), logged


def print_error(error: BaseException) -> None:
    """Print an error, or log it with `--log json`; with a stack trace if it is unexpected."""
    from pipeline.observe import redact, say
    from pipeline.observe.log import logs_json

    unexpected = isinstance(error, Exception) and not has_sentence(error)
    if isinstance(error, Interrupted):
        error.reported = True
    if logs_json():
        mistakes = getattr(error, "mistakes", ())
        fields = {"mistakes": [str(mistake) for mistake in mistakes]} if mistakes else {}
        say(
            "failed",
            sentence_of(error),
            level=logging.ERROR,
            trace=error if unexpected else None,
            exit_code=exit_code_of(error),
            **fields,
        )
    elif unexpected:
        print(redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    else:
        sentence = sentence_of(error) if isinstance(error, KeyboardInterrupt) else str(error)
        print(f"binlake: {redact(sentence)}", file=sys.stderr)
