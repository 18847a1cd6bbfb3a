"""The `binlake` command. What Spark needs is imported inside the commands: help is instant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pipeline.errors import BinlakeError, SettingsError

if TYPE_CHECKING:
    from pipeline.report import LayerReport
    from pipeline.settings import Settings

app = typer.Typer(
    name="binlake",
    help="MySQL and MariaDB binary logs become replicated Delta tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Source = Annotated[
    str | None, typer.Option("--source", help="A name for the server that the binlogs are of.")
]
Binlogs = Annotated[
    str | None,
    typer.Option("--binlogs", help="A binlog file, a folder of them, or a glob; a path or URL."),
]
LakeFolder = Annotated[str | None, typer.Option("--lake", help="The lake's root folder.")]
Conf = Annotated[
    Path | None, typer.Option("--conf", help="Settings in YAML; options here win over them.")
]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]


@app.command()
def run(
    source: Source = None, binlogs: Binlogs = None, lake: LakeFolder = None, conf: Conf = None
) -> None:
    """Ingest, decode and apply what is new: from binlog files to gold tables."""
    _run_layers(_settings(conf, source, binlogs, lake), "bronze", "silver", "gold")


@app.command()
def ingest(
    source: Source = None, binlogs: Binlogs = None, lake: LakeFolder = None, conf: Conf = None
) -> None:
    """Bronze only: take in binlog files as they are."""
    _run_layers(_settings(conf, source, binlogs, lake), "bronze")


@app.command()
def decode(
    source: Source = None, binlogs: Binlogs = None, lake: LakeFolder = None, conf: Conf = None
) -> None:
    """Silver only: decode what is ingested to typed change rows."""
    _run_layers(_settings(conf, source, binlogs, lake), "silver")


@app.command()
def apply(
    source: Source = None, binlogs: Binlogs = None, lake: LakeFolder = None, conf: Conf = None
) -> None:
    """Gold only: apply what is decoded to the replicated tables, and publish the cut."""
    _run_layers(_settings(conf, source, binlogs, lake), "gold")


@app.command()
def retry(
    source: Source = None, binlogs: Binlogs = None, lake: LakeFolder = None, conf: Conf = None
) -> None:
    """Take up what a fault held, after a fix: decode it again, then apply."""
    from pipeline.lease import only_writer
    from pipeline.progress import for_terminal
    from pipeline.run import require_source, retry_faults
    from pipeline.spark import session

    settings = _settings(conf, source, binlogs, lake).require("lake")
    with only_writer(settings.lake, settings.spark.conf):
        spark = session(settings)
        require_source(spark, settings)
        reports = retry_faults(spark, settings, for_terminal())
    _finish(reports, settings)


@app.command()
def status(lake: LakeFolder = None, conf: Conf = None, json: Json = False) -> None:
    """Where every layer and table stands: position, faults, gaps."""
    from pipeline.show import show_status
    from pipeline.spark import session
    from pipeline.status import read_status

    settings = _settings(conf, None, None, lake).require("lake")
    found = read_status(session(settings), settings)
    if not found.layers:
        remedy = "Give the folder that binlake run was given."
        raise SettingsError("there is no lake in this folder.", key="lake", remedy=remedy)
    if json:
        print(found.to_json())
    else:
        show_status(found, Console())


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
    from pipeline.bronze.encrypted import read_keys
    from pipeline.inspect import inspect_files
    from pipeline.settings import Settings

    encryption = Settings.load(conf).encryption
    if keyring is not None:
        encryption = encryption.model_copy(update={"keyring": keyring})
    raise typer.Exit(inspect_files(files, rows=rows, json=json, keys=read_keys(encryption)))


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
        typer.Option("--against", help="Compare with this file, which the script made."),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option("--script", help="Write the script that makes such a file, and do no more."),
    ] = None,
    json: Json = False,
) -> None:
    """A checksum and row count per gold table at the cut; whether a server has the same."""
    if script is not None:
        from pipeline.verify.script import write_script

        write_script(script)
        return
    from pipeline.run import DONE, DONE_WITH_FAULTS, require_source
    from pipeline.spark import session
    from pipeline.verify.report import show
    from pipeline.verify.run import verify as verify_gold, with_source

    settings = _settings(conf, source, None, lake).require("lake")
    spark = session(settings)
    settings = with_source(spark, settings)
    require_source(spark, settings)
    found = verify_gold(spark, settings, tables=tables or (), against=against)
    if json:
        print(found.to_json())
    else:
        show(found, Console())
    raise typer.Exit(DONE if found.equal else DONE_WITH_FAULTS)


def _settings(
    conf: Path | None, source: str | None, binlogs: str | None, lake: str | None
) -> Settings:
    from pipeline.settings import Settings

    return Settings.load(conf, source=source, binlogs=binlogs, lake=lake)


def _run_layers(settings: Settings, *layers: str) -> None:
    from pipeline.lake import require_writable
    from pipeline.lease import only_writer
    from pipeline.progress import for_terminal
    from pipeline.run import require_source, run_layers
    from pipeline.spark import session

    settings.require("lake", *(["binlogs"] if "bronze" in layers else []))
    if "bronze" in layers:
        require_writable(settings.lake)
    with only_writer(settings.lake, settings.spark.conf):
        spark = session(settings)
        if "bronze" not in layers:
            require_source(spark, settings)
        reports = run_layers(spark, settings, for_terminal(), layers)
    _finish(reports, settings)


def _finish(reports: list[LayerReport], settings: Settings) -> None:
    """Show what was done, and leave with the exit code that tells whether all of it was."""
    from pipeline.run import exit_code
    from pipeline.show import show_reports

    show_reports(reports, settings, Console(), Console(stderr=True))
    raise typer.Exit(exit_code(reports))


def main(*command: str) -> None:
    """The entry point: a `BinlakeError` or `BinlogError` is a sentence and an exit code.

    `command` stands before the process's own arguments: a layer's job.py gives its own.
    """
    from decoder.errors import BinlogError

    try:
        app([*command, *sys.argv[1:]])
    except BinlakeError as error:
        print(f"binlake: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BinlogError as error:
        print(f"binlake: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
