"""The meaning of each setting, from the docstrings of the settings models.

The reference of settings and the files that `binlake init` writes are made of them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

from pipeline.settings.settings import Settings


def field_meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring below each field of a settings model, except sections; may be empty."""
    definition = ast.parse(inspect.getsource(model)).body[0]
    documented = {
        ast.unparse(field.target): " ".join(ast.literal_eval(text.value).split())
        for field, text in pairwise(getattr(definition, "body", ()))
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }
    fields = model.model_fields
    return {name: documented.get(name, "") for name in fields if section_model(model, name) is None}


def section_model(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """Return the model of a section by its name; None for a setting."""
    annotation: Any = model.model_fields[name].annotation
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if is_model else None


def sections(model: type[BaseModel] = Settings) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the path of each section (empty for the top level) and its model, outer ones first."""
    yield "", model
    for name in model.model_fields:
        if (inner := section_model(model, name)) is not None:
            yield from ((f"{name}.{path}".rstrip("."), found) for path, found in sections(inner))
