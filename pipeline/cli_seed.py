"""`binlake seed`: its options. What it needs is imported inside: help is instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from pipeline.cli_options import Conf, LakeFolder, Log, Server, Source

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
    consistent: Annotated[
        bool, typer.Option("--consistent", help="All as they were at one moment, in one stream.")
    ] = False,
    conf: Conf = None,
    log: Log = None,
) -> NoReturn:
    """Read tables of a live server into the lake, for gold to start from."""
    from pipeline.cli_runs import carry_out

    def changed(settings: Settings) -> Settings:
        given = {"tables": tuple(table)} if table else {}
        update = {**given, **({"consistent": True} if consistent else {})}
        return settings.model_copy(update={"seed": settings.seed.model_copy(update=update)})

    options = {"server": server, "source": source, "lake": lake, "log": log}
    carry_out("seed", conf, change=changed, **options)
