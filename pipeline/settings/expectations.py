"""Descriptions of what a setting expects, with an example, by its model."""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ByteSize, SecretStr
from pydantic.fields import FieldInfo

_WORDS: dict[Any, str] = {
    str: "text",
    SecretStr: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    ByteSize: "a size in bytes",
    dict: "keys with values",
}
_BOUNDS = ((Ge, "ge", "{} or more"), (Gt, "gt", "more than {}"), (Lt, "lt", "less than {}"))


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared type with its metadata: bounds, description, examples."""

    type: Any
    info: tuple[Any, ...] = ()

    @classmethod
    def of(cls, annotation: Any, info: Iterable[Any] = ()) -> Declared:
        """Return an annotation's type, unwrapped from `Annotated`, with its metadata."""
        if get_origin(annotation) is not Annotated:
            return cls(annotation, tuple(info))
        inner, *metadata = get_args(annotation)
        return cls.of(inner, [*info, *metadata])

    @property
    def fields(self) -> Sequence[FieldInfo]:
        """Its `Field()` metadata."""
        return [one for one in self.info if isinstance(one, FieldInfo)]

    def inside(self, part: str | int) -> Declared | None:
        """Return the type of a key or an item in it; None if it has none."""
        if isinstance(self.type, type) and issubclass(self.type, BaseModel):
            field = self.type.model_fields.get(str(part))
            return None if field is None else Declared.of(field.annotation, [field])
        origin, arguments = get_origin(self.type), get_args(self.type)
        if self.is_union:
            found = (Declared.of(one).inside(part) for one in arguments)
            return next((one for one in found if one is not None), None)
        if origin is tuple and isinstance(part, int):
            return Declared.of(arguments[0])
        return Declared.of(arguments[1]) if origin is dict else None

    @property
    def is_text(self) -> bool:
        """True if any text is accepted."""
        if self.is_union:
            return any(Declared.of(one).is_text for one in get_args(self.type))
        return self.type in (str, SecretStr)

    @property
    def is_union(self) -> bool:
        """True if several types are accepted."""
        return get_origin(self.type) in (Union, types.UnionType)


def declared(model: type[BaseModel], path: Sequence[str | int]) -> Declared | None:
    """Return the declared type of the setting at a path; None if there is no such setting."""
    found: Declared | None = Declared(model)
    for part in path:
        found = found.inside(part) if found is not None else None
    return found


def expected(what: Declared) -> str:
    """Return what a setting expects: `a size in bytes, such as 16 MiB`."""
    words = _words(what)
    example = _example(what)
    return f"{words}, such as {example}" if example and example not in words else words


def _words(what: Declared) -> str:
    for field in what.fields:
        if field.description:
            return field.description
    origin, arguments = get_origin(what.type), get_args(what.type)
    if what.is_union:
        kinds = [Declared.of(one) for one in arguments if one is not types.NoneType]
        return " or ".join(_words(kind) for kind in kinds)
    if origin is Literal:
        *others, last = (yaml_text(one) for one in arguments)
        return f"{', '.join(others)} or {last}" if others else last
    if isinstance(what.type, type) and issubclass(what.type, BaseModel):
        return f"keys with values ({', '.join(what.type.model_fields)})"
    if origin is tuple:
        return "a list"
    return f"{_WORDS.get(origin or what.type, 'another value')}{_bounds(what)}"


def _bounds(what: Declared) -> str:
    metadata = [*what.info, *(one for field in what.fields for one in field.metadata)]
    lowest = next((one.ge for one in metadata if isinstance(one, Ge)), None)
    highest = next((one.le for one in metadata if isinstance(one, Le)), None)
    if lowest is not None and highest is not None:
        return f" from {lowest} to {highest}"
    parts = [
        text.format(getattr(one, name))
        for one in metadata
        for kind, name, text in (*_BOUNDS, (Le, "le", "at most {}"))
        if isinstance(one, kind)
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _example(what: Declared) -> str:
    """Return the model's example, or else the default."""
    for field in what.fields:
        if field.examples:
            return str(field.examples[0])
        if isinstance(field.default, int | float | str):
            return yaml_text(field.default)
    if what.is_union:
        return next(filter(None, (_example(Declared.of(one)) for one in get_args(what.type))), "")
    return ""


def yaml_text(value: Any) -> str:
    """Return a plain value in YAML's notation."""
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)
