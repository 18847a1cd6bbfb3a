"""`binlake config`: its options. What it needs is imported inside: help is instant."""

from __future__ import annotations

import typer

from pipeline.cli_options import Binlogs, Conf, Json, LakeFolder, Server, Source, settings_of


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
    from pipeline.settings_shown import as_json, as_yaml

    options = {"source": source, "binlogs": binlogs, "lake": lake, "server": server}
    settings = settings_of(conf, **options)
    typer.echo(as_json(settings) if json else as_yaml(settings), nl=json)
