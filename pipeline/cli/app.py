"""The `binlake` command. What Spark needs is imported inside the commands: help is instant."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from pipeline.cli import server_command as cli_server
from pipeline.cli.options import (
    Binlogs,
    Conf,
    FullRefresh,
    Json,
    LakeFolder,
    Log,
    Server,
    Source,
    Until,
    settings_of,
)
from pipeline.cli.run_commands import carry_out, set_up_run, tell
from pipeline.errors import DONE, DONE_WITH_FAULTS, exit_code_of
from pipeline.observe.interruption import heeding_signals
from pipeline.run.operations import lake_status, session_for, verification


class Commands(TyperGroup):
    """The commands, each of which an interrupt ends with a line."""

    def invoke(self, ctx: Any) -> Any:
        """Carry out the command that the context names."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            tell(error)
            raise typer.Exit(exit_code_of(error)) from error


_OBJECTS = 100_000
"""How many new objects Python lets come before it looks for garbage. A command's imports make three
times as many that stay: looked through every 700, they take a tenth of a run with nothing new."""

app = typer.Typer(
    name="binlake",
    cls=Commands,
    help="MySQL and MariaDB binary logs become replicated Delta tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def run(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    until: Until = None,
    full_refresh: FullRefresh = False,
    log: Log = None,
) -> None:
    """Ingest, decode and apply what is new: from binlog files to gold tables."""
    command = "run --full-refresh" if full_refresh else "run"
    carry_out(command, conf, source=source, binlogs=binlogs, lake=lake, until=until, log=log)


@app.command()
def config(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    server: Server = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Check a settings file, and show the settings that count, without Spark or a server.

    Secrets are shown as ***. What is wrong is reported, all of it, with exit code 2.
    """
    from pipeline.settings.shown import as_json, as_yaml

    options = {"source": source, "binlogs": binlogs, "lake": lake, "server": server}
    settings = settings_of(conf, **options)
    typer.echo(as_json(settings) if json else as_yaml(settings), nl=json)


@app.command()
def ingest(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    log: Log = None,
) -> None:
    """Bronze only: take in binlog files as they are."""
    carry_out("ingest", conf, source=source, binlogs=binlogs, lake=lake, log=log)


@app.command()
def decode(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    until: Annotated[
        str | None,
        typer.Option("--until", help="With --full-refresh: only if gold can stop there."),
    ] = None,
    full_refresh: FullRefresh = False,
    log: Log = None,
) -> None:
    """Silver only: decode what is ingested to typed change rows."""
    if until is not None and not full_refresh:
        raise typer.BadParameter("gold stops there, not decode: it needs --full-refresh.")
    command = "decode --full-refresh" if full_refresh else "decode"
    carry_out(command, conf, source=source, binlogs=binlogs, lake=lake, until=until, log=log)


@app.command()
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
            "--table", help="With --full-refresh: a pattern over schema.table; repeatable."
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Gold only: apply what is decoded to the replicated tables, and publish the cut."""
    if table and not full_refresh:
        raise typer.BadParameter("it names what is made again: it needs --full-refresh.")
    command = "apply --full-refresh" if full_refresh else "apply"
    carry_out(
        command,
        conf,
        source=source,
        binlogs=binlogs,
        lake=lake,
        until=until,
        refresh_tables=table,
        log=log,
    )


@app.command()
def retry(
    source: Source = None,
    binlogs: Binlogs = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    log: Log = None,
) -> None:
    """Take up what a fault held, after a fix: decode it again, then apply."""
    carry_out("retry", conf, source=source, binlogs=binlogs, lake=lake, log=log)


@app.command()
def maintain(
    source: Source = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done, and why no more.")
    ] = False,
    log: Log = None,
) -> None:
    """Remove what nothing needs any more, and lay out the lake's tables anew where that pays."""
    if not dry_run:
        carry_out("maintain", conf, source=source, lake=lake, log=log)
    from pipeline.cli.show import show_preview
    from pipeline.maintenance import run as look
    from pipeline.observe import say

    settings, progress, _ = set_up_run(conf, source=source, lake=lake, log=log)
    spark, settings = session_for("maintain", settings)
    report = look(spark, settings, progress, dry_run=True)
    if settings.log == "text":
        show_preview(report, settings, Console())
        return
    for line in report.notes:
        say("note", line, layer=report.layer)


@app.command()
def status(
    lake: LakeFolder = None,
    conf: Conf = None,
    json: Json = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 3 where a table is held, or files are amiss.")
    ] = False,
) -> None:
    """Where every source, layer and table stands: lag, position, faults, gaps, the last run."""
    from pipeline.cli.show import show_status

    found = lake_status(settings_of(conf, lake=lake))
    if json:
        print(found.to_json())
    else:
        show_status(found, Console())
    if check and not found.clean:
        raise typer.Exit(DONE_WITH_FAULTS)


@app.command()
def runs(
    lake: LakeFolder = None,
    source: Annotated[
        str | None, typer.Option("--source", help="Only runs of this source; else of all.")
    ] = None,
    last: Annotated[int, typer.Option("--last", min=1, help="How many, the newest.")] = 20,
    conf: Conf = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """The last runs: what each one read and wrote, how long it took, how far behind gold was."""
    from pipeline.cli.show_runs import show_runs
    from pipeline.lake.ledger.ledger_table import batches
    from pipeline.lake.ledger.run_store import read_runs
    from pipeline.lake.tables.opening import tables_of
    from pipeline.run.preflight import no_lake, require_lake
    from pipeline.spark.session import spark_for

    settings = require_lake(settings_of(conf, lake=lake))
    spark, place = spark_for(settings), settings.layout
    found = read_runs(spark, place, source=source, last=last)
    if not found and not tables_of(spark, place).exists(batches(place)):
        raise no_lake(settings)
    if json:
        for record in found:
            print(record.to_json())
    else:
        show_runs(found, settings.lake, Console())


@app.command()
def inspect(
    files: Annotated[list[Path], typer.Argument(help="Binlog files.")],
    rows: Annotated[bool, typer.Option("--rows", help="Decoded row images.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    keyring: Annotated[
        str | None, typer.Option("--keyring", help="The server's keyring file, for encrypted logs.")
    ] = None,
    conf: Conf = None,
) -> None:
    """The events of binlog files, or with --rows their row images; needs no lake."""
    from pipeline.catalog.timeline.logged import CatalogOptions
    from pipeline.cli.inspect import inspect_files
    from pipeline.source.logs.encrypted import read_keys

    settings = settings_of(conf)
    if keyring is not None:
        settings = settings.with_section("encryption", keyring=keyring)
    catalog = CatalogOptions(
        system_time_zone=settings.system_time_zone,
        default_charset=settings.default_charset,
        lower_case_table_names=settings.lower_case_table_names,
    )
    keys = read_keys(settings.encryption)
    files = [file.expanduser() for file in files]
    raise typer.Exit(inspect_files(files, rows=rows, json=json, keys=keys, catalog=catalog))


@app.command()
def verify(
    source: Source = None,
    lake: LakeFolder = None,
    conf: Conf = None,
    tables: Annotated[
        list[str] | None, typer.Option("--tables", help="A pattern over schema.table; repeatable.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="Compare with a server (mysql://user@host:port, or server: the one of conf or"
            " BINLAKE_SERVER), or with a file of the script's.",
        ),
    ] = None,
    wait: Annotated[
        int,
        typer.Option(
            "--wait",
            min=0,
            help="Seconds to wait for gold's cut to come to where the server is, and"
            " before that for a replica to come to where gold is.",
        ),
    ] = 600,
    script: Annotated[
        Path | None,
        typer.Option("--script", help="Write the script that makes such a file, and do no more."),
    ] = None,
    json: Json = False,
) -> None:
    """A checksum and row count per gold table at the cut; whether a server has the same."""
    if script is not None:
        from pipeline.verify.script import write_script

        write_script(script.expanduser())
        return
    from pipeline.observe.progress import for_terminal
    from pipeline.settings.server import is_server
    from pipeline.verify.report import show

    server = against if against is not None and is_server(against) else None
    settings = settings_of(conf, source=source, lake=lake, server=server)
    chosen = tuple(tables or ())
    found = verification(settings, for_terminal(), tables=chosen, against=against, wait=wait)
    if json:
        print(found.to_json())
    else:
        show(found, Console())
    raise typer.Exit(DONE if found.equal else DONE_WITH_FAULTS)


cli_server.register(app)


def main(*command: str) -> None:
    """The entry point: an error is a sentence and an exit code, and a stack trace if it is odd.

    `command` stands before the process's own arguments: a layer's job.py gives its own.
    """
    gc.set_threshold(_OBJECTS)
    with heeding_signals(tell) as interruption:
        try:
            app([*command, *sys.argv[1:]])
        except SystemExit:
            if interruption.error is None:
                raise
        except Exception as error:
            if interruption.error is None:
                tell(error)
                sys.exit(exit_code_of(error))
        if interruption.error is not None:
            interruption.finish()
