"""JSON diffs, as MySQL logs them in place of a document, applied to a document's text.

Text in, text out, in silver's spelling: compact, members in MySQL's order (by the length of the
name in UTF-8, then by its bytes), numbers digit for digit as they were, so that a document that
diffs led to is the text that silver would have had of it.

Source: MySQL `sql-common/json_diff.cc` (`apply_json_diffs`), paths `sql-common/json_path.cc`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from json.encoder import encode_basestring
from typing import Any

_LEG = re.compile(r'\[(\d+)\]|\.(?:("(?:[^"\\]|\\.)*")|([^.\["]+))')
Container = dict[str, Any] | list[Any]
Leg = str | int


class JsonDiffError(ValueError):
    """A diff names a place that the document does not have: it is not the document it is for."""


class Number(str):
    """A number's digits as they were written: MySQL tells 1 from 1.0 and 1.00."""

    __slots__ = ()


def apply_diffs(document: str, diffs: Iterable[str]) -> str:
    """The document after some changes, each the text of a JSON array of diffs, in order.

    A diff is {"op": "replace" | "insert" | "remove", "path": …, "value": …}. Raises JsonDiffError.
    """
    holder: list[Any] = [parsed(document)]
    for text in diffs:
        for diff in parsed(text):
            legs = [0, *path_legs(diff["path"])]
            _OPERATIONS[diff["op"]](_container(holder, legs, diff), legs[-1], diff)
    return written(holder[0])


def path_legs(path: str) -> list[Leg]:
    """The members and indexes of a path such as `$.a[0]."b c"`. Raises JsonDiffError."""
    legs: list[Leg] = []
    at = 1
    while at < len(path):
        found = _LEG.match(path, at)
        if found is None:
            raise JsonDiffError(f"the path {path} cannot be read")
        index, quoted, name = found.groups()
        if index is not None:
            legs.append(int(index))
        else:
            legs.append(name if quoted is None else json.loads(quoted))
        at = found.end()
    return legs


def parsed(text: str) -> Any:
    """JSON with its numbers as `Number`."""
    return json.loads(text, parse_int=Number, parse_float=Number)


def written(value: Any) -> str:
    """The text of what `parsed` gives."""
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts)


def _write(value: Any, put: Callable[[str], None]) -> None:
    if isinstance(value, Number):
        put(value)
    elif isinstance(value, str):
        put(encode_basestring(value))
    elif isinstance(value, dict):
        for n, name in enumerate(sorted(value, key=_order)):
            put("," if n else "{")
            put(encode_basestring(name))
            put(":")
            _write(value[name], put)
        put("}" if value else "{}")
    elif isinstance(value, list):
        for n, element in enumerate(value):
            put("," if n else "[")
            _write(element, put)
        put("]" if value else "[]")
    else:
        put(json.dumps(value))  # true, false, null


def _order(name: str) -> tuple[int, bytes]:
    stored = name.encode()
    return len(stored), stored


def _container(holder: list[Any], legs: Sequence[Leg], diff: dict[str, Any]) -> Container:
    """What holds the place that a diff is about."""
    place: Any = holder
    for leg in legs[:-1]:
        place = place[leg] if _has(place, leg) else None
    if not isinstance(place, (dict, list)):
        raise _missing(diff)
    return place


def _has(place: Any, leg: Leg) -> bool:
    if isinstance(place, dict):
        return leg in place
    return isinstance(place, list) and isinstance(leg, int) and leg < len(place)


def _replace(place: Any, leg: Leg, diff: dict[str, Any]) -> None:
    if not _has(place, leg):
        raise _missing(diff)
    place[leg] = diff["value"]


def _insert(place: Any, leg: Leg, diff: dict[str, Any]) -> None:
    """A new member of an object; in an array, what is there and behind it moves on."""
    if isinstance(place, list) and isinstance(leg, int):
        place.insert(leg, diff["value"])
    elif isinstance(place, dict) and isinstance(leg, str) and leg not in place:
        place[leg] = diff["value"]
    else:
        raise JsonDiffError(f"there is something at {diff['path']} already")


def _remove(place: Any, leg: Leg, diff: dict[str, Any]) -> None:
    if not _has(place, leg):
        raise _missing(diff)
    del place[leg]


def _missing(diff: dict[str, Any]) -> JsonDiffError:
    return JsonDiffError(f"the document has nothing at {diff['path']}")


_OPERATIONS = {"replace": _replace, "insert": _insert, "remove": _remove}
