"""Reading a settings file, and saying what is wrong with it: key, file and line, what was meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from pipeline.errors import SettingsError
from pipeline.redaction import is_secret, redact

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A YAML mapping with the line (from 1) on which each key stands, by its path."""

    name: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> SettingsFile:
        """No file: only defaults and the command line."""
        return cls()

    @classmethod
    def read(cls, file: Path) -> SettingsFile:
        """The file's mapping. Raises SettingsError if it cannot be read or is no YAML mapping."""
        name = str(file)
        try:
            text = file.read_text(encoding="utf-8")
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            values = yaml.safe_load(text)
        except OSError as error:
            raise SettingsError(f"cannot be read: {error.strerror}.", file=name) from error
        except (yaml.YAMLError, ValueError) as error:  # a date that is none is no YAMLError
            raise SettingsError(f"is not YAML: {_yaml_problem(error)}.", file=name) from error
        if root is None:
            return cls(name)
        if not isinstance(values, dict):
            raise SettingsError("holds no settings: keys with values are needed.", file=name)
        lines: dict[KeyPath, int] = {}
        _collect_lines(root, (), lines, name)
        return cls(name, values, lines)

    def place(self, path: KeyPath) -> str | None:
        """`file:line` of a key, or of the nearest one above it that the file holds."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return f"{self.name}:{self.lines[path[:length]]}"
        return self.name or None


def _collect_lines(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], name: str) -> None:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _collect_lines(item, (*path, index), lines, name)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, str(key.value))
            line = key.start_mark.line + 1
            if here in lines:  # YAML would silently take the later one
                first = lines[here]
                raise SettingsError(
                    f"is given twice, first on line {first}.",
                    key=_dotted(here),
                    file=f"{name}:{line}",
                )
            lines[here] = line
            _collect_lines(value, here, lines, name)


def _yaml_problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    # A value that begins with * & or ! and is not in quotes, as a password may.
    problem = re.sub(r"(alias|anchor|tag) (['\"]).*\2", r"\1", problem)
    return f"{problem}, line {mark.line + 1}" if mark is not None else problem


def explain(
    error: ValueError, model: type[BaseModel], file: SettingsFile, overrides: Mapping[str, Any]
) -> SettingsError:
    """The SettingsError for the first thing that pydantic found wrong."""
    if not isinstance(error, ValidationError):
        return SettingsError(str(error))
    first = error.errors()[0]
    path: KeyPath = tuple(part for part in first["loc"] if part != "[key]")
    place = None if path and path[0] in overrides else file.place(path)
    if first["type"] == "extra_forbidden":
        return SettingsError(
            "is not a setting.", key=_dotted(path), file=place, remedy=_meant(model, path)
        )
    hidden = (
        isinstance(first["input"], dict)
        or any(is_secret(str(part)) for part in path)
        or _model_at(model, path).model_config.get("hide_input_in_errors", False)
    )
    given = "" if hidden else f" (given: {redact(repr(first['input']))})"
    reason = first["msg"].removeprefix("Value error, ")
    return SettingsError(f"{reason}{given}.", key=_dotted(path), file=place)


def _meant(model: type[BaseModel], path: KeyPath) -> str:
    """`Did you mean segments.target?`, or the keys that there are."""
    *above, wrong = path
    known = list(_model_at(model, above).model_fields)
    close = get_close_matches(str(wrong), known, n=1)
    if close:
        return f"Did you mean {_dotted((*above, close[0]))}?"
    return f"There are: {', '.join(_dotted((*above, key)) for key in known)}."


def _model_at(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel]:
    """The innermost model on the way to a key."""
    for part in path:
        field = model.model_fields.get(str(part))
        inner = field.annotation if field is not None else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        model = inner
    return model


def _dotted(path: KeyPath) -> str:
    return ".".join(str(part) for part in path)
