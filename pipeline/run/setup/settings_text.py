"""Text of a settings file: each key below a comment with its meaning."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from pydantic import BaseModel

from pipeline.settings import Settings
from pipeline.settings.conf_file import escaped
from pipeline.settings.meanings import field_meanings, section_model

WIDTH = 100
_INDENT = "  "


def settings_text(
    heading: Sequence[str], values: Mapping[str, Any], notes: Mapping[str, Sequence[str]]
) -> str:
    """Return a settings file: comments, then the values, each below its meaning and its notes.

    `notes` are by dotted key. A line of `heading` or a note that begins with two spaces is not
    wrapped. Comments may quote names from a server: they never end before the line does.
    """
    lines = [*_comments(heading, ""), *_section(Settings, values, notes, ())]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _section(
    model: type[BaseModel],
    values: Mapping[str, Any],
    notes: Mapping[str, Sequence[str]],
    path: tuple[str, ...],
) -> Iterator[str]:
    meanings, indent = field_meanings(model), _INDENT * len(path)
    for name, value in values.items():
        here = (*path, name)
        inner = section_model(model, name)
        meaning = meanings[name] if inner is None else _first_sentences(inner)
        yield from () if path else [""]
        yield from _comments([meaning, *notes.get(".".join(here), ())], indent)
        if inner is None:
            yield from textwrap.indent(_yaml(name, value), indent).split("\n")
        else:
            yield f"{indent}{name}:"
            yield from _section(inner, value, notes, here)


def _first_sentences(model: type[BaseModel]) -> str:
    """Return the first paragraph of a section's docstring."""
    return (inspect.getdoc(model) or "").partition("\n\n")[0]


def _yaml(name: str, value: Any) -> str:
    """Return a key with its value; a list is in brackets, wrapped if it is long."""
    style = None if isinstance(value, list) else False
    text: str = yaml.safe_dump(
        {name: escaped(value)}, default_flow_style=style, allow_unicode=True, width=WIDTH
    )
    return text.rstrip("\n")


def _comments(texts: Sequence[str], indent: str) -> Iterator[str]:
    for text in texts:
        if text.startswith(_INDENT):
            lead = text[: len(text) - len(text.lstrip(" "))]
            yield f"{indent}# {lead}{_one_line(text)}"
            continue
        width = WIDTH - len(indent) - len("# ")
        lines = textwrap.wrap(
            _one_line(text), width, break_long_words=False, break_on_hyphens=False
        )
        yield from (f"{indent}# {line}" for line in lines or [""])


def _one_line(text: str) -> str:
    """Return a text in one line, without characters that YAML does not allow."""
    words = " ".join(text.split())
    return "".join(sign if sign.isprintable() else "�" for sign in words)
