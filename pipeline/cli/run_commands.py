"""Commands that are runs, and how each is carried out: settings, log, Spark, report, exit code."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

import typer
from rich.console import Console

from pipeline.cli.options import (
    DryRunOption,
    EveryOption,
    FullRefreshOption,
    InputOptions,
    JsonOption,
    LakeOptions,
    Output,
    RefreshedTablesOption,
    ServerOption,
    UntilOption,
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
    from pipeline.observe import LayerReport, Progress
    from pipeline.settings import Settings

Section: TypeAlias = tuple[str, Mapping[str, Any]]

_UNWRAPPED = 10_000
"""Columns of a result that is not on a terminal: a file, a pipe, a scheduler's log."""


def run(
    places: InputOptions,
    *,
    until: UntilOption = None,
    full_refresh: FullRefreshOption = False,
    every: EveryOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    output: Output,
) -> None:
    """Ingest, decode and apply what is new: from binlog files to gold tables."""
    options = {**asdict(places), "until": until}
    if every is not None:
        if full_refresh or dry_run or json:
            raise typer.BadParameter("--every excludes --full-refresh, --dry-run and --json.")
        synchronize(output, every=every, captures=False, **options)
    run_or_preview("run", output, options, full_refresh=full_refresh, dry_run=dry_run, json=json)


def sync(
    server: ServerOption = None,
    *,
    places: InputOptions,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FOLDER",
            help="Folder that the server's binary logs are captured into, as a path or URL.",
        ),
    ] = None,
    every: EveryOption = None,
    output: Output,
) -> NoReturn:
    """Capture a server, seed what gold lacks, and run: once or repeatedly.

    With --every it keeps running, and stops after the current round on SIGTERM or Ctrl-C.
    """
    capture = "capture", {"to": to}
    synchronize(output, capture, every=every, captures=True, **asdict(places), server=server)


def ingest(
    places: InputOptions, *, dry_run: DryRunOption = False, json: JsonOption = False, output: Output
) -> None:
    """Store new binlog files in bronze, byte for byte."""
    run_or_preview("ingest", output, asdict(places), dry_run=dry_run, json=json)


def decode(
    places: InputOptions,
    *,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="POSITION",
            help="With --full-refresh: refuse to start if gold cannot stop there.",
        ),
    ] = None,
    full_refresh: FullRefreshOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    output: Output,
) -> None:
    """Decode what is in bronze into typed change rows in silver."""
    if until is not None and not full_refresh:
        raise typer.BadParameter("--until is for gold: with decode it needs --full-refresh.")
    options = {**asdict(places), "until": until}
    run_or_preview("decode", output, options, full_refresh=full_refresh, dry_run=dry_run, json=json)


def apply(
    places: InputOptions,
    *,
    until: UntilOption = None,
    full_refresh: FullRefreshOption = False,
    tables: RefreshedTablesOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    output: Output,
) -> None:
    """Apply changes in silver to the gold tables, and publish a snapshot."""
    if tables and not full_refresh:
        raise typer.BadParameter("--table selects tables to rebuild: it needs --full-refresh.")
    options = {**asdict(places), "until": until, "refresh_tables": tables}
    run_or_preview("apply", output, options, full_refresh=full_refresh, dry_run=dry_run, json=json)


def retry(places: InputOptions, *, output: Output) -> None:
    """Decode and apply what a fault held, once its cause is fixed."""
    carry_out("retry", output, **asdict(places))


def maintain(
    places: LakeOptions,
    *,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="List what would be done and what blocks the rest."),
    ] = False,
    output: Output,
) -> None:
    """Apply retention, and compact and vacuum the lake's tables."""
    if not dry_run:
        carry_out("maintain", output, **asdict(places))
    with starting("Starting …", output):
        settings, progress, _ = set_up_run(output, **asdict(places))
        from pipeline.cli.show import show_preview
        from pipeline.maintenance import run as look
        from pipeline.observe import say

    spark, settings = session_for("maintain", settings, progress)
    report = look(spark, settings, progress, dry_run=True)
    if settings.log == "text":
        if not output.quiet:
            with result_console() as out:
                show_preview(report, settings, out)
        return
    for line in report.notes:
        say("note", line, layer=report.layer)


def run_or_preview(
    command: str,
    output: Output,
    options: Mapping[str, Any],
    *,
    full_refresh: bool = False,
    dry_run: bool,
    json: bool,
) -> None:
    """Run a command, or only show what it would do; `options` as of `set_up_run`."""
    if dry_run and full_refresh:
        raise typer.BadParameter("--dry-run shows no full refresh, which processes everything.")
    if dry_run:
        show_only(command, output, json=json, **options)
    else:
        full_command = f"{command} --full-refresh" if full_refresh else command
        carry_out(full_command, output, json=json, **options)


def show_only(command: str, output: Output, *, json: bool, **options: Any) -> None:
    """Show what a command would do; it is neither carried out nor recorded."""
    with starting("Starting …", output):
        settings, progress, _ = set_up_run(output, **options)
        from pipeline.cli.show_dry_run import show_dry_run
        from pipeline.run.operations import run_preview

    found = run_preview(command, settings, progress)
    if json:
        print(found.to_json())
    elif not output.quiet:
        with result_console() as out:
            show_dry_run(found, out)


def carry_out(
    command: str,
    output: Output,
    *,
    section: Section | None = None,
    json: bool = False,
    **options: Any,
) -> NoReturn:
    """Run a command, record it, report it, and exit with its code; arguments as of `set_up_run`.

    `json`: print the run's record instead of the report.
    """
    with starting("Starting …", output):
        from pipeline.observe.memory import keep_freed

        keep_freed()
        settings, progress, logged = set_up_run(output, section=section, **options)
        from pipeline.cli.show import show_problems, show_reports
        from pipeline.run.commands import exit_code, recorded_run

    spark, settings = session_for(command, settings, progress)
    try:
        reports, record = recorded_run(spark, settings, progress, command)
    except (Exception, KeyboardInterrupt) as error:
        if not logged:
            raise
        raise typer.Exit(exit_code_of(error)) from error
    if not logged:
        show_problems(reports, Console(stderr=True))
    if json and record is not None:
        print(record.to_json())
    elif not json and settings.log == "text" and not output.quiet:
        with result_console() as out:
            show_reports(reports, settings, out)
    raise typer.Exit(exit_code(reports))


def synchronize(
    output: Output,
    section: Section | None = None,
    *,
    every: str | None,
    captures: bool,
    **options: Any,
) -> NoReturn:
    """Carry out a sync, and exit with its code.

    `captures`: see `pipeline.run.sync.command.continuously`; `section`, `options`: of `set_up_run`.
    """
    with starting("Starting …", output):
        from pipeline.observe.memory import keep_freed

        keep_freed()
        settings, progress, logged = set_up_run(output, section=section, **options)
        settings = settings.with_section("sync", every=every)
        from pipeline.run.sync.command import continuously, once
    shown = _silent if logged or output.quiet else _on_terminal()
    if settings.sync.every is not None:
        raise typer.Exit(continuously(settings, progress, shown, captures=captures))
    code, _ = once(settings, progress, shown)
    raise typer.Exit(code)


def _silent(reports: Sequence[LayerReport]) -> None:
    """Show nothing: the reports are in the log."""


def _on_terminal() -> Callable[[Sequence[LayerReport]], None]:
    """Return a function that shows the reports of a round: problems, then a line."""
    from pipeline.cli.show import round_line, show_problems

    def show(reports: Sequence[LayerReport]) -> None:
        show_problems(reports, Console(stderr=True))
        print(f"{datetime.now():%H:%M:%S} {round_line(reports)}", flush=True)

    return show


@contextmanager
def starting(name: str, output: Output) -> Iterator[Progress]:
    """Show `name` on a terminal until the block ends, unless `output` shows none; yields what
    further work in the block reports to.

    The modules that a command imports take a second to load.
    """
    from pipeline.observe.progress import LogProgress, QuietProgress, terminal_progress
    from pipeline.observe.run_log import set_up_log

    # Before the settings are read: mistakes in them are reported in the format asked for.
    if output.log == "json" or output.verbose:
        set_up_log("json" if output.log == "json" else "text", verbose=output.verbose)
    shown = LogProgress() if output.verbose else terminal_progress()
    progress = QuietProgress() if output.silent else shown
    with progress.task(name):
        yield progress


@contextmanager
def result_console() -> Iterator[Console]:
    """Yield the console for a command's result. Lines are wrapped on a terminal only; elsewhere
    they end without the spaces that align a table."""
    if sys.stdout.isatty():
        yield Console()
        return
    out = Console(width=_UNWRAPPED)
    with out.capture() as printed:
        yield out
    lines = (line.rstrip(" ") for line in printed.get().split("\n"))
    print("\n".join(lines), end="")


def set_up_run(
    output: Output, *, section: Section | None = None, **options: Any
) -> tuple[Settings, Progress, bool]:
    """Load the settings and set up the log; return them, the progress, and True if the log's lines
    include faults, gaps and the error that ends the run.

    `section`: the name of a section of the settings, and options for its keys; `options`: as of
    `settings_of`.
    """
    from pipeline.observe.progress import LogProgress, QuietProgress, terminal_progress
    from pipeline.observe.run_log import set_up_log

    settings = settings_of(log=output.log, **options)
    logged = set_up_log(settings.log, quiet=output.quiet, verbose=output.verbose)
    if section is not None:
        name, given = section
        settings = settings.with_section(name, **given)
    if output.quiet:
        return settings, QuietProgress(), logged
    return settings, LogProgress() if logged else terminal_progress(), logged


def print_error(error: BaseException) -> None:
    """Print an error, or log it with `--log json`; with a stack trace if it is unexpected."""
    from pipeline.observe import redact, say
    from pipeline.observe.run_log import logs_json

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
            error_type=type(error).__name__,
            **fields,
        )
    elif unexpected:
        print(redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    else:
        sentence = sentence_of(error) if isinstance(error, KeyboardInterrupt) else str(error)
        print(f"binlake: {redact(sentence)}", file=sys.stderr)
