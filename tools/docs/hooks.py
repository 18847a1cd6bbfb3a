"""mkdocs hook: adds the reference pages that are rendered from the code.

Settings come from the pydantic models and the docstrings of their fields, commands from typer, the
lake's columns from `lake_columns`, the server's refusals from `pipeline.source.server.refusals`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lake_columns import GOLD_COLUMNS, documented_tables
from mkdocs.structure.files import File, Files
from pydantic import BaseModel
from typer.main import get_command

from pipeline.cli.app import app
from pipeline.settings import Settings
from pipeline.settings.meanings import field_meanings, sections
from pipeline.settings.mistakes import declared, expected
from pipeline.source.server.refusals import BY_CODE, DUMP_ENDS

ROOT = Path(__file__).parents[2]


def on_files(files: Files, config: Any) -> Files:
    """Add the rendered pages (called by mkdocs)."""
    for name, render in PAGES.items():
        text = "\n".join(render())
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def settings_page() -> Iterator[str]:
    """A table for each section of the settings."""
    yield "# Settings"
    yield "\nKeys of the YAML file that `--conf` names: a commented example is `conf/binlake.yml`."
    yield "[Configuration](../guides/configuration.md) says how files and options combine."
    for section, model in sections():
        yield f"\n## {section or 'Top level'}\n"
        yield "| key | default | expects | meaning |\n|---|---|---|---|"
        for name, meaning in field_meanings(model).items():
            path = f"{section}.{name}" if section else name
            kind = declared(Settings, path.split("."))
            words = expected(kind) if kind is not None else ""
            yield _row(f"`{path}`", _default(model, name), _plain(words), meaning)


def settings_models() -> list[type[BaseModel]]:
    """Return all models of a settings file."""
    return [model for _, model in sections()]


def _default(model: type[BaseModel], name: str) -> str:
    value = model().model_dump(mode="json")[name]
    if value in (None, "", [], {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def commands_page() -> Iterator[str]:
    """Each command with its help and options."""
    yield "# Commands"
    yield "\nOptions win over the [settings](settings.md) of `--conf`. [Exit codes](exit-codes.md)."
    for name, command in sorted(get_command(app).commands.items()):
        arguments = [str(one.name) for one in command.params if one.param_type_name == "argument"]
        usage = "".join(f" {name.upper()}…" for name in arguments)
        yield f"\n## binlake {name}\n\n{_plain(command.help)}\n"
        yield f"```\nbinlake {name} [OPTIONS]{usage}\n```\n"
        yield "| option | |\n|---|---|"
        for option in command.params:
            if option.param_type_name == "option":
                flags = ", ".join(f"`{one}`" for one in option.opts)
                environment = f" (or `{option.envvar}`)" if option.envvar else ""
                yield _row(flags, f"{_plain(option.help or '')}{environment}")


def tables_page() -> Iterator[str]:
    """Every table of the lake with the meaning of its columns."""
    yield "# Tables of the lake"
    yield "\nPaths are relative to the lake's root. With `lake_schema` they are names,"
    yield "`bronze_segments`, `silver_transactions`, … ([catalogs](../guides/catalogs.md))."
    yield "\n## gold/‹schema›/‹table›\n"
    yield "A row of the source's table, with the source's columns in its order and under its names"
    yield "([types](types.md)), followed by:\n"
    yield "| column | type | meaning |\n|---|---|---|"
    yield _row("`__lsn`", "`int64`", GOLD_COLUMNS["__lsn"])
    yield _row("`__committed_at`", "`timestamp`", GOLD_COLUMNS["__committed_at"])
    for table in documented_tables():
        yield f"\n## {table.path}\n\nOne row: {table.row}\n"
        yield "| column | type | meaning |\n|---|---|---|"
        for field in table.schema:
            kind = "" if str(field.type) == "null" else f"`{_type(str(field.type))}`"
            yield _row(f"`{field.name}`", kind or "struct", table.meanings[field.name])


def _type(text: str) -> str:
    return "list of structs" if text.startswith("list<element: struct") or len(text) > 40 else text


def server_messages_page() -> Iterator[str]:
    """The source server's refusals with their meaning and remedy."""
    yield "# Messages of the source server"
    yield "\nWhat `check`, `capture`, `seed` and `verify` report when the server refuses something."
    yield "\n## By error code\n\n| code | meaning | what to do |\n|---|---|---|"
    for code, refusal in BY_CODE.items():
        yield _row(str(code), _plain(refusal.cause), _plain(refusal.remedy))
    yield "\n## By the text that ends a dump\n\nMostly under code 1236.\n"
    yield "| text contains | meaning | what to do |\n|---|---|---|"
    for end in DUMP_ENDS:
        pattern = end.text.pattern.replace("|", "\\|")
        yield _row(f"`{pattern}`", _plain(end.cause), _plain(end.remedy))


def python_page() -> Iterator[str]:
    """The API of the packages, from docstrings."""
    yield "# Python API"
    if (ROOT / "binlake" / "__init__.py").exists():
        yield "\n## binlake\n\n::: binlake\n    options:\n      heading_level: 3"
    yield "\n## decoder\n\n::: decoder\n    options:\n      heading_level: 3"


def _plain(text: str) -> str:
    """Return the text with Markdown's special characters escaped."""
    return re.sub(r"([*_<>|\[\]])", r"\\\1", text)


def _row(*cells: str) -> str:
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"


PAGES = {
    "settings": settings_page,
    "commands": commands_page,
    "tables": tables_page,
    "server-messages": server_messages_page,
    "python": python_page,
}
"""Functions that render a page, by its name below docs/reference."""
