"""Settings files: values with the line of each key, environment variables, and YAML errors.

`${NAME}` and `${NAME:-default}` are replaced by environment variables; `$${` is a literal `${`.
`as_yaml` and `as_json` show settings in the form of a file, without secrets.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from pipeline.errors import SettingsError
from pipeline.observe import redact
from pipeline.observe.redaction import MASK, is_secret

KeyPath = tuple[str | int, ...]
LITERAL = "airflow"
"""The section in which variables are not replaced: the DAGs read it, in another environment."""
UNSET = object()
"""The value of a text whose variables are all empty: the setting keeps its default."""
_NUMBERS = ("int", "float")
_VARIABLE = re.compile(
    r"(?P<literal>\$\$\{)"
    r"|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<has_default>:-(?P<default>[^{}]*))?\}"
    r"|(?P<malformed>\$\{[^}\s]*\}?)"
)
_FORMS = "${NAME} and ${NAME:-default} are environment variables; a literal ${ is written $${."
_REMEDIES = (
    (r"'\\t' that cannot start", "Indent with spaces: YAML does not allow tabs."),
    (
        r"alias|anchor|tag|directive|cannot start any token",
        "Quote values that begin with a special character (*, &, !, %, @).",
    ),
    (
        r"mapping values are not allowed",
        "Quote values that contain a colon, and begin each key on a line of its own.",
    ),
    (
        r"could not find expected ':'",
        "Write a colon and a space after each key, as in lake: /data/lake.",
    ),
    (
        r"stream end|end of stream|expected ',' or|flow node",
        "Close each bracket, brace and quote. Within braces, quote ${…}.",
    ),
    (
        r"block end|block mapping|block collection",
        "Begin all keys of a section in the same column.",
    ),
)
"""Remedies by a pattern in PyYAML's message; the first match is used."""


def dotted(path: KeyPath) -> str:
    """Return a key path as text, `server.tls.mode`; items of a list by number."""
    return ".".join(str(part) for part in path)


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A YAML mapping, with the line (from 1) of each key and item by its path.

    `mistakes`: duplicate keys, and variables that are not set. `unknown`: the paths of values that
    depend on the environment, if the file is read without it.
    """

    name: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    mistakes: tuple[SettingsError, ...] = ()
    unknown: frozenset[KeyPath] = frozenset()

    @classmethod
    def read(
        cls, file: Path, is_text: Callable[[KeyPath], bool], *, variables: bool = True
    ) -> SettingsFile:
        """Read a file, and replace environment variables in its texts; without `variables`, leave
        out values that have some.

        `is_text`: True for a setting that expects text, which gets what the file has even if YAML
        reads a number (`0123`). Raises SettingsError if the file cannot be read or is not a YAML
        mapping.
        """
        name = str(file)
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            remedy = "Give the path of a settings file (--conf)."
            reason = f"cannot be read: {error.strerror}."
            raise SettingsError(reason, file=name, remedy=remedy) from error
        except UnicodeDecodeError as error:
            remedy = "Save the file as UTF-8."
            raise SettingsError("is not text in UTF-8.", file=name, remedy=remedy) from error
        root, values = _parsed(text, name)
        if root is None:
            return cls(name)
        if not isinstance(values, dict):
            raise SettingsError(
                f"contains no settings: keys with values are expected, such as lake: /data/lake,"
                f" not {'a list' if isinstance(values, list) else 'a text'}.",
                file=f"{name}:{root.start_mark.line + 1}",
            )
        places = _Places(name)
        places.collect(root, ())
        texts = {path: text for path, text in places.numbers.items() if is_text(path)}
        return cls(name, values, places.lines, tuple(places.mistakes))._with_texts(
            texts, variables=variables
        )

    def place(self, path: KeyPath) -> str | None:
        """Return `file:line` of a key, or of its nearest parent in the file."""
        parts = tuple(map(str, path))
        for length in range(len(parts), 0, -1):
            if parts[:length] in self.lines:
                return f"{self.name}:{self.lines[parts[:length]]}"
        return self.name or None

    def is_known(self, path: KeyPath) -> bool:
        """Return True if the value at a path, or the section there, has no value left out."""
        return not any(one[: len(path)] == path for one in self.unknown)

    def _with_texts(self, texts: Mapping[KeyPath, str], *, variables: bool) -> SettingsFile:
        """Return the file with these values by path, and variables replaced in all others."""
        mistakes, unknown = list(self.mistakes), set[KeyPath]()

        def replaced(path: KeyPath, value: Any) -> Any:
            if not isinstance(value, str) or path[0] == LITERAL:
                return texts.get(path, value)
            if not variables and any(found["name"] for found in _VARIABLE.finditer(value)):
                unknown.add(path)
                return UNSET
            secret = any(is_secret(str(part)) for part in path)
            try:
                text = _VARIABLE.sub(lambda found: _value_of(found, secret), value)
                return UNSET if value and not text else text
            except SettingsError as error:
                error.key, error.file = dotted(path), self.place(path)
                mistakes.append(error)
                return value

        values = _mapped(self.values, replaced)
        return replace(self, values=values, mistakes=tuple(mistakes), unknown=frozenset(unknown))


def _value_of(found: re.Match[str], secret: bool) -> str:
    """Return the value of a variable in a text; if it is `secret`, it is redacted from now on.

    As in a shell, a default is also used for a variable that is set but empty. Raises SettingsError
    for a variable that is not set, and for `${` that does not begin a variable.
    """
    if found["literal"]:
        return "${"
    if found["malformed"]:
        raise SettingsError("has a ${ that does not begin a variable.", remedy=_FORMS)
    name = found["name"]
    value = os.environ.get(name)
    if found["has_default"]:
        value = value or found["default"]
    if value is None:
        raise SettingsError(
            f"uses the environment variable {name}, which is not set.",
            remedy=f"Set {name}, or write ${{{name}:-…}} with a default. A literal ${{ is $${{.",
        )
    if value and (secret or is_secret(name)):
        redact.learn([value])
    return value


def _mapped(value: Any, change: Callable[[KeyPath, Any], Any], path: KeyPath = ()) -> Any:
    """Return mappings and lists with each value changed, and without those that become UNSET."""
    if isinstance(value, dict):
        inner = {key: _mapped(one, change, (*path, str(key))) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one is not UNSET}
    if isinstance(value, list):
        items = [_mapped(one, change, (*path, index)) for index, one in enumerate(value)]
        return [one for one in items if one is not UNSET]
    return change(path, value)


class _Places:
    """Collector of the lines of all keys and items of a YAML document."""

    def __init__(self, file: str) -> None:
        self.lines: dict[tuple[str, ...], int] = {}
        self.numbers: dict[KeyPath, str] = {}
        self.mistakes: list[SettingsError] = []
        self._file = file
        self._above: list[yaml.Node] = []

    def collect(self, node: yaml.Node, path: KeyPath) -> None:
        """Collect everything below a node; raise SettingsError if a node contains itself."""
        if isinstance(node, yaml.ScalarNode):
            if node.tag.rpartition(":")[2] in _NUMBERS and node.style is None:
                self.numbers[path] = node.value
            return
        if any(node is one for one in self._above):
            place = f"{self._file}:{node.start_mark.line + 1}"
            raise SettingsError("is not a settings file: a value contains itself.", file=place)
        self._above.append(node)
        for named, part, inner in _parts(node):
            here = (*path, part)
            if self._is_first(named, here):
                self.collect(inner, here)
        self._above.pop()

    def _is_first(self, node: yaml.Node, path: KeyPath) -> bool:
        line, parts = node.start_mark.line + 1, tuple(map(str, path))
        if parts not in self.lines:
            self.lines[parts] = line
            return True
        reason = f"is given twice, first on line {self.lines[parts]}."
        remedy = "Remove one of them: YAML would silently use the later one."
        place = f"{self._file}:{line}"
        self.mistakes.append(SettingsError(reason, key=dotted(path), file=place, remedy=remedy))
        return False


def _parts(node: yaml.Node) -> Iterator[tuple[yaml.Node, str | int, yaml.Node]]:
    """Yield the node, the name or index, and the value of each key or item."""
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield item, index, item
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key, str(key.value), value


def _parsed(text: str, name: str) -> tuple[yaml.Node | None, Any]:
    """Parse a document to nodes and to values. Raises SettingsError, which quotes no values."""
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, KeyError, RecursionError) as error:
        # An invalid date or !!bool, and a very deep list, raise errors that are not YAMLErrors.
        problem, line = _yaml_problem(error)
        place = f"{name}:{line}" if line else name
        raise SettingsError(
            f"is not YAML: {problem}.", file=place, remedy=_remedy(problem)
        ) from None


def _yaml_problem(error: Exception) -> tuple[str, int]:
    """Return the problem and its line (0: unknown), without values, which may be secrets."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        problem = f"{error.context or ''} {error.problem or ''}".strip()
        # An unquoted value that begins with *, & or ! may be a password.
        problem = re.sub(r"(alias|anchor|tag) (['\"]).*\2", r"\1", problem)
        return " ".join(problem.split()), error.problem_mark.line + 1
    if isinstance(error, yaml.reader.ReaderError):
        return "it contains a character that YAML does not allow", 0
    if isinstance(error, RecursionError):
        return "it is nested too deeply", 0
    # The message about an invalid date quotes no value; any other might.
    plain = type(error) is ValueError and "'" not in str(error)
    return str(error) if plain else "a value does not match its type tag (!!)", 0


def _remedy(problem: str) -> str:
    return next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, problem)), "")


def as_yaml(settings: BaseModel) -> str:
    """Return all settings as YAML, which can be used as a `--conf` file if it has no secrets."""
    values = _shown(settings)
    written = {key: one if key == LITERAL else escaped(one) for key, one in values.items()}
    return yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=100)


def as_json(settings: BaseModel) -> str:
    """Return all settings as one JSON object."""
    return json.dumps(_shown(settings), ensure_ascii=False)


def _shown(settings: BaseModel) -> dict[str, Any]:
    """Return all settings by name, as plain values; secrets are `***`."""

    def shown(path: KeyPath, value: Any) -> Any:
        if value is not None and any(is_secret(str(part)) for part in path):
            return MASK
        return redact.value(value)

    values: dict[str, Any] = _mapped(settings.model_dump(mode="json"), shown)
    return values


def escaped(value: Any) -> Any:
    """Escape `${` in all texts, where it would begin a variable."""
    return _mapped(value, lambda _, one: one.replace("${", "$${") if isinstance(one, str) else one)
