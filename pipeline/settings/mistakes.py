"""Mistakes in settings: the place of each, what its model expects there, and what is given.

`declared` and `expected` also describe the settings that the documentation lists.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ByteSize, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from pipeline.errors import InvalidSettingsError, SettingsError
from pipeline.observe import redact
from pipeline.observe.redaction import is_secret
from pipeline.settings.conf_file import KeyPath, SettingsFile, dotted

_OWN = ("value_error", "assertion_error")
"""pydantic's types of errors from a model's own validators, whose message suffices."""
_NO_SETTING = ("extra_forbidden", "invalid_key")
_REMEDIES: Mapping[str, str] = {
    "sources": "A settings file has one source: write a file for each, with source: NAME.",
    "password": "Settings files must not contain passwords: set server.password_file, or"
    " BINLAKE_SERVER_PASSWORD in the environment.",
}
"""Remedies for names that are not settings but are often tried."""
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


def one_error(mistakes: Sequence[SettingsError], file: SettingsFile) -> SettingsError:
    """Return the only mistake, or an error with all of them, in order of their lines."""
    if len(mistakes) == 1:
        return mistakes[0]
    return InvalidSettingsError(sorted(mistakes, key=_line), file.name or None)


def _line(mistake: SettingsError) -> int:
    _, _, line = (mistake.file or "").rpartition(":")
    return int(line) if line.isdigit() else 0


def mistakes_in(
    error: ValidationError,
    model: type[BaseModel],
    values: Mapping[Any, Any],
    file: SettingsFile,
    outside: Collection[KeyPath],
) -> Iterator[SettingsError]:
    """Yield a mistake for each setting that pydantic found invalid in `values`.

    Keys in `outside` did not come from the file. Settings with a mistake of the file are skipped,
    and those of which a part is unknown.
    """
    known = {mistake.key for mistake in file.mistakes}
    found: dict[KeyPath, SettingsError] = {}
    for one in error.errors():
        path = _path(one["loc"], values)
        if path not in found and dotted(path) not in known and file.is_known(path):
            given = any(path[: len(key)] == key for key in outside)
            place = None if given else file.place(path)
            found[path] = _mistake(one, path, model, values, place)
    # For a setting of one value or a list, pydantic reports both types: keep only the item's error.
    innermost = [
        path for path in found if not any(path == other[: len(path)] != other for other in found)
    ]
    yield from (found[path] for path in innermost)


def _path(loc: Sequence[str | int], values: Any) -> KeyPath:
    """Return the key path of a value, without pydantic's names for the types it tried."""
    path: list[str | int] = []
    for part in loc:
        if _has(values, part):
            values = values[part]
            path.append(part)
    return tuple(path)


def _has(values: Any, part: str | int) -> bool:
    if isinstance(values, list | tuple):
        return isinstance(part, int) and part < len(values)
    return isinstance(values, Mapping) and part in values


def _mistake(
    one: Any, path: KeyPath, model: type[BaseModel], values: Mapping[Any, Any], place: str | None
) -> SettingsError:
    key = dotted(path)
    if one["type"] in _NO_SETTING:
        remedy = _suggestion(model, path)
        return SettingsError("is not a setting.", key=key, file=place, remedy=remedy)
    given = _given(path, model, values)
    own = one["type"] in _OWN
    what = declared(model, path)
    if own or what is None:
        reason = one["msg"].removeprefix("Value error, ")
        shown = "" if given is None or given in reason else f" (given: {given})"
        return SettingsError(f"{reason}{shown}.", key=key, file=place)
    shown = "" if given is None else f" (given: {given})"
    return SettingsError(f"expects {expected(what)}{shown}.", key=key, file=place)


def _given(path: KeyPath, model: type[BaseModel], values: Any) -> str | None:
    """Return the given value for display; None if it may be a secret, or is a section."""
    for part in path:
        values = values[part]
    if isinstance(values, list | tuple):
        return "a list"
    if isinstance(values, Mapping):
        found = declared(model, path)
        return None if found is not None and found.model is not None else "keys with values"
    if values is None:
        return _yaml_text(values)
    if any(is_secret(str(part)) for part in path) or any(
        section.model_config.get("hide_input_in_errors", False) for section in _models(model, path)
    ):
        return None
    return redact(repr(values) if isinstance(values, str) else _yaml_text(values))


def _models(model: type[BaseModel], path: KeyPath) -> Iterator[type[BaseModel]]:
    """Yield the models on the path to a key."""
    on_the_way = (declared(model, path[:length]) for length in range(len(path) + 1))
    yield from (one.model for one in on_the_way if one is not None and one.model is not None)


def _suggestion(model: type[BaseModel], path: KeyPath) -> str:
    """Return `Did you mean segments.target?`, or the list of valid keys."""
    *above, wrong = path
    name = str(wrong)
    if remedy := _REMEDIES.get(name):
        return remedy
    known = list(list(_models(model, path[:-1]))[-1].model_fields)
    close = get_close_matches(name.lower().replace("-", "_"), known, n=1)
    if close:
        return f"Did you mean {dotted((*above, close[0]))}?"
    if elsewhere := [dotted(one) for one in _all_keys(model) if one[-1] == name]:
        return f"Did you mean {' or '.join(elsewhere)}?"
    return f"Valid keys are: {', '.join(dotted((*above, key)) for key in known)}."


def _all_keys(model: type[BaseModel], above: KeyPath = ()) -> Iterator[KeyPath]:
    for name, field in model.model_fields.items():
        yield (*above, name)
        if (section := Declared(field.annotation).model) is not None:
            yield from _all_keys(section, (*above, name))


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

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of a section; None if it is not one."""
        is_section = isinstance(self.type, type) and issubclass(self.type, BaseModel)
        return self.type if is_section else None

    def inside(self, part: str | int) -> Declared | None:
        """Return the type of a key or an item in it; None if it has none."""
        if self.model is not None:
            field = self.model.model_fields.get(str(part))
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
        *others, last = (_yaml_text(one) for one in arguments)
        return f"{', '.join(others)} or {last}" if others else last
    if what.model is not None:
        return f"keys with values ({', '.join(what.model.model_fields)})"
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
            return _yaml_text(field.default)
    if what.is_union:
        return next(filter(None, (_example(Declared.of(one)) for one in get_args(what.type))), "")
    return ""


def _yaml_text(value: Any) -> str:
    """Return a plain value in YAML's notation."""
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)
