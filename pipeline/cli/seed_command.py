"""`binlake seed`: its options. What it needs is imported inside: help is instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from pipeline.cli.options import Conf, LakeFolder, Log, Server, Source

if TYPE_CHECKING:
    from pipeline.settings import Settings


def seed(
    server: Server = None,
    source: Source = None,
    lake: LakeFolder = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table", help="A pattern over schema.table; repeatable. Else what gold lacks."
        ),
    ] = None,
    dump: Annotated[
        str | None,
        typer.Option("--from", help="A dump, or files of a table, to read instead of the server."),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--form", help="What --from is: dump, csv or parquet.")
    ] = None,
    create: Annotated[
        str | None, typer.Option("--create", help="A file with the CREATE TABLE of csv or parquet.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="FILE:POSITION in the log that --from is of."),
    ] = None,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="All as they were at one moment, in one stream.")
    ] = False,
    conf: Conf = None,
    log: Log = None,
) -> NoReturn:
    """Read tables of a live server, or of a dump, into the lake, for gold to start from."""
    from pipeline.cli.run_commands import carry_out

    told = {"tables": table, "dump": dump, "form": form, "create": create, "at": at}
    given = {key: value for key, value in told.items() if value is not None}

    def changed(settings: Settings) -> Settings:
        return settings.with_section(
            "seed", **given, **({"consistent": True} if consistent else {})
        )

    options = {"server": server, "source": source, "lake": lake, "log": log}
    carry_out("seed", conf, change=changed, **options)
