"""`binlake seed`: its options. It imports what it needs when it runs, so that help is instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pipeline.cli.options import Conf, LakeFolder, Log, Output, Quiet, Server, Source, Verbose
from pipeline.cli.run_commands import carry_out

if TYPE_CHECKING:
    from pipeline.settings import Settings


def seed(
    server: Server = None,
    source: Source = None,
    lake: LakeFolder = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="PATTERN",
            help="Tables whose schema.table matches; repeatable. By default, those that gold"
            " lacks.",
        ),
    ] = None,
    dump: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Dump, or files of one table, to read instead of the server.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="FORMAT", help="Format of --from: dump, csv or parquet."),
    ] = None,
    create: Annotated[
        str | None,
        typer.Option(
            "--create",
            metavar="FILE",
            help="File with the table's CREATE TABLE, for csv and parquet.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="POSITION",
            help="Position in the log that --from was taken at, as FILE:POSITION.",
        ),
    ] = None,
    consistent: Annotated[
        bool,
        typer.Option(
            "--consistent", help="Read all tables in one consistent snapshot, in one stream."
        ),
    ] = False,
    conf: Conf = None,
    log: Log = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> NoReturn:
    """Read the initial snapshot of tables from a server or a dump into the lake.

    For tables whose CREATE TABLE is not in the logs; the next run loads the rows into gold.
    """
    options = {"tables": table, "dump": dump, "form": form, "create": create, "at": at}
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    if consistent:
        given["consistent"] = True

    def changed(settings: Settings) -> Settings:
        return settings.with_section("seed", **given)

    output = Output(log, quiet, verbose)
    carry_out("seed", conf, output, change=changed, server=server, source=source, lake=lake)
