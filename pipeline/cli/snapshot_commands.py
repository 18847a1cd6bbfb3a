"""Commands for what is published: `read` and `dbt-sources`.

They import what they need when they run, so that help is instant.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pipeline.cli.options import (
    JsonOption,
    LakeOptions,
    Output,
    TablesOption,
    settings_of,
)
from pipeline.cli.run_commands import result_console, starting

if TYPE_CHECKING:
    from pipeline.gold.snapshot.copy import CopiedSnapshot


def read(
    to: Annotated[
        str,
        typer.Option("--to", metavar="FOLDER", help="Folder for the copies: FOLDER/schema/table."),
    ],
    places: LakeOptions,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="POSITION",
            help="Copy the last snapshot at or before this position: a time"
            " (2026-11-22T10:00:00Z), a GTID, FILE:POSITION or an LSN. By default, the last one.",
        ),
    ] = None,
    tables: TablesOption = None,
    json: JsonOption = False,
    output: Output,
) -> None:
    """Copy all gold tables of one published snapshot to Delta tables in another folder.

    A copy that was interrupted is continued; tables of another snapshot are not overwritten.
    """
    with starting("Reading the lake …", output) as progress:
        from pipeline.run.operations import snapshot_copy

        settings = settings_of(**asdict(places), log=output.log)
        found = snapshot_copy(settings, to, at, tuple(tables or ()), progress)
    if json:
        print(found.to_json())
    elif not output.quiet:
        with result_console() as out:
            _show(found, out)


def _show(found: CopiedSnapshot, out: Console) -> None:
    """Print the snapshot, its copies, and the tables that do not equal the source's."""
    at = "" if found.committed_at is None else f", committed at {found.committed_at:%F %T} UTC"
    title = f"Snapshot of {found.source} at LSN {found.lsn}{at}"
    out.print(title, markup=False, highlight=False, soft_wrap=True)
    for table in found.tables:
        states = [
            *(["held"] if table.held else []),
            *([] if table.complete else ["incomplete"]),
            *(["copied before"] if table.already_there else []),
        ]
        state = f" ({', '.join(states)})" if states else ""
        out.print(f"  {table.path}{state}", markup=False, highlight=False, soft_wrap=True)


def dbt_sources(
    places: LakeOptions,
    *,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="File to write, such as models/sources.yml."),
    ] = None,
    tables: TablesOption = None,
    warn_after: Annotated[
        str,
        typer.Option(
            "--warn-after",
            metavar="DURATION",
            help="Age of a table's last change from which dbt warns: 36h, 2 days, or forever.",
        ),
    ] = "1 day",
    error_after: Annotated[
        str,
        typer.Option(
            "--error-after",
            metavar="DURATION",
            help="Age of a table's last change from which dbt fails: 36h, 2 days, or forever.",
        ),
    ] = "forever",
    output: Output,
) -> None:
    """Write a dbt sources file of gold: columns, keys as tests, freshness, and paths for DuckDB."""
    with starting("Reading the lake …", output) as progress:
        from pipeline.run.dbt_sources import Freshness, write_sources
        from pipeline.run.operations import gold_sources

        freshness = Freshness(_age(warn_after, "--warn-after"), _age(error_after, "--error-after"))
        settings = settings_of(**asdict(places), log=output.log)
        text = gold_sources(settings, freshness, tuple(tables or ()), progress)
    if to is None:
        print(text, end="")
    else:
        write_sources(to.expanduser(), text)


def _age(text: str, option: str) -> timedelta | None:
    from pydantic import TypeAdapter, ValidationError

    from pipeline.settings.values import OrForever

    try:
        found: timedelta | None = TypeAdapter(OrForever).validate_python(text)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise typer.BadParameter(f"{reason}.", param_hint=option) from None
    return found
