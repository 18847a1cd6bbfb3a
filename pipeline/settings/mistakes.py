"""Errors in settings: the place of each, the expected value and the given one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.errors import InvalidSettingsError, SettingsError
from pipeline.observe import redact
from pipeline.observe.redaction import is_secret
from pipeline.settings.expectations import declared, expected, yaml_text
from pipeline.settings.file import KeyPath, SettingsFile, dotted

_OWN = ("value_error", "assertion_error")
"""pydantic's types of errors from a model's own validators, whose message suffices."""
_NO_SETTING = ("extra_forbidden", "invalid_key")
_REMEDIES: Mapping[str, str] = {
    "sources": "A settings file has one source: write a file for each, with source: NAME.",
    "password": "Settings files must not contain passwords: set server.password_file, or"
    " BINLAKE_SERVER_PASSWORD in the environment.",
}
"""Remedies for names that are not settings but are often tried."""


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

    Keys in `outside` did not come from the file. Settings with a mistake of the file are skipped.
    """
    known = {mistake.key for mistake in file.mistakes}
    found: dict[KeyPath, SettingsError] = {}
    for one in error.errors():
        path = _path(one["loc"], values)
        if path not in found and dotted(path) not in known:
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
        return None if _model(model, path) else "keys with values"
    if values is None:
        return yaml_text(values)
    if any(is_secret(str(part)) for part in path) or any(
        section.model_config.get("hide_input_in_errors", False) for section in _models(model, path)
    ):
        return None
    return redact(repr(values) if isinstance(values, str) else yaml_text(values))


def _models(model: type[BaseModel], path: KeyPath) -> Iterator[type[BaseModel]]:
    """Yield the models on the path to a key."""
    found = (_model(model, path[:length]) for length in range(len(path) + 1))
    yield from (one for one in found if one is not None)


def _model(model: type[BaseModel], path: KeyPath) -> type[BaseModel] | None:
    """Return the model of the section at a path; None if the path is not a section."""
    found = declared(model, path)
    kind = found.type if found is not None else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


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
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _all_keys(field.annotation, (*above, name))
