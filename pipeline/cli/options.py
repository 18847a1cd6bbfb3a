"""Options that several commands share, and the settings that they lead to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipeline.settings import Settings

Source = Annotated[
    str | None, typer.Option("--source", help="A name for the server that the binlogs are of.")
]
Binlogs = Annotated[
    list[str] | None,
    typer.Option(
        "--binlogs", help="A binlog file, a folder of them, or a glob; a path or URL. Or several."
    ),
]
LakeFolder = Annotated[str | None, typer.Option("--lake", help="The lake's root folder.")]
Conf = Annotated[
    Path | None, typer.Option("--conf", help="Settings in YAML; options here win over them.")
]
Log = Annotated[
    str | None,
    typer.Option(
        "--log",
        envvar="BINLAKE_LOG",
        help="Lines on standard error: text (bars on a terminal), or json, an object a line.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        help="Gold stops there: a time (2026-11-22T10:00:00Z), a GTID, FILE:POSITION, or an LSN.",
    ),
]
FullRefresh = Annotated[
    bool,
    typer.Option(
        "--full-refresh",
        help="Make all anew from what the layer before has; goes on with one that is under way.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="The source server, as mysql://user@host:port; its password comes from elsewhere.",
    ),
]


def settings_of(conf: Path | None, **options: str | list[str] | None) -> Settings:
    """The settings, whose secrets nothing shows from now on."""
    from pipeline.observe import redact
    from pipeline.settings import Settings
    from pipeline.spark.spark_submit import use_stores

    settings = Settings.load(conf and conf.expanduser(), **options)
    redact.learn(settings.secrets)
    use_stores(settings.spark.conf)
    return settings
