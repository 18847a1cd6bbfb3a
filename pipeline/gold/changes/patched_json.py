"""Apply JSON diffs, which MySQL logs instead of a document: to a text, and to columns of Spark.

Text in, text out, in silver's notation: compact, members in MySQL's order (by the length of the
name in UTF-8, then by its bytes), numbers digit for digit as they were. So a document built from
diffs is the text that silver would have for the whole document.

Source: MySQL `sql-common/json_diff.cc` (`apply_json_diffs`), paths `sql-common/json_path.cc`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from json.encoder import encode_basestring
from typing import Any

from pyspark.sql import Column, functions as sf, types as st

_LEG = re.compile(r'\[(\d+)\]|\.(?:("(?:[^"\\]|\\.)*")|([^.\["]+))')
Container = dict[str, Any] | list[Any]
Leg = str | int


class JsonDiffError(ValueError):
    """Raised if a diff does not fit a document: it was made for a different one."""


class Number(str):
    """A number's digits as written: MySQL distinguishes 1, 1.0 and 1.00."""

    __slots__ = ()


def apply_diffs(document: str, diffs: Iterable[str]) -> str:
    """Return the document after some changes, each the text of a JSON array of diffs, in order.

    A diff is {"op": "replace" | "insert" | "remove", "path": …, "value": …}. Raises JsonDiffError.
    """
    holder: list[Any] = [parsed(document)]
    for text in diffs:
        for diff in parsed(text):
            legs = [0, *path_legs(diff["path"])]
            _OPERATIONS[diff["op"]](_container(holder, legs, diff), legs[-1], diff)
    return written(holder[0])


def path_legs(path: str) -> list[Leg]:
    """Return the members and indexes of a path such as `$.a[0]."b c"`. Raises JsonDiffError."""
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
    """Parse JSON with its numbers as `Number`."""
    return json.loads(text, parse_int=Number, parse_float=Number)


def written(value: Any) -> str:
    """Return the text of what `parsed` returns."""
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
    """Return the object or array that contains the place of a diff."""
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
    """Add a member to an object, or insert an element before the one at this index of an array."""
    if isinstance(place, list) and isinstance(leg, int):
        place.insert(leg, diff["value"])
    elif isinstance(place, dict) and isinstance(leg, str) and leg not in place:
        place[leg] = diff["value"]
    else:
        raise JsonDiffError(f"there is already a value at {diff['path']}")


def _remove(place: Any, leg: Leg, diff: dict[str, Any]) -> None:
    if not _has(place, leg):
        raise _missing(diff)
    del place[leg]


def _missing(diff: dict[str, Any]) -> JsonDiffError:
    return JsonDiffError(f"the document has nothing at {diff['path']}")


_OPERATIONS = {"replace": _replace, "insert": _insert, "remove": _remove}

# --- columns of Spark -----------------------------------------------------------------------------


def with_diffs(document: Column, diffs: Column, *, lenient: bool) -> Column:
    """Return the document with its diffs applied; `lenient`: skip those that do not fit it.

    `diffs` are an array of {`lsn`, `diff`}: the LSN of the change, and the text of its diffs.
    """
    return (_FITTING if lenient else _APPLIED)(document, _texts(diffs))


def misfit(document: Column, diffs: Column) -> Column:
    """Return the LSN of the first change whose diffs do not fit the document, and the reason.

    Null if all of them fit. `diffs` are those of `with_diffs`.
    """
    found = _MISFIT(document, _texts(diffs))
    lsn = sf.get(diffs, found.getField("at")).getField("lsn")
    return sf.when(found.isNotNull(), sf.struct(lsn.alias("lsn"), found.getField("reason")))


def _texts(diffs: Column) -> Column:
    return sf.transform(diffs, lambda one: one["diff"])


def _applied(document: str | None, diffs: list[str] | None) -> str | None:
    """Apply the diffs; Spark also calls this for rows that a surrounding condition excludes."""
    if not diffs:
        return document
    if document is None:
        raise JsonDiffError("there is no document")
    return apply_diffs(document, diffs)


def _fitting(document: str | None, diffs: list[str] | None) -> str | None:
    for diff in diffs or ():
        with suppress(JsonDiffError):
            document = _applied(document, [diff])
    return document


def _misfit(document: str | None, diffs: list[str] | None) -> tuple[int, str] | None:
    for place, diff in enumerate(diffs or ()):
        try:
            document = _applied(document, [diff])
        except JsonDiffError as error:
            return place, str(error)
    return None


_APPLIED = sf.udf(_applied, st.StringType(), useArrow=False)
_FITTING = sf.udf(_fitting, st.StringType(), useArrow=False)
_PLACE = st.StructType().add("at", st.IntegerType()).add("reason", st.StringType())
_MISFIT = sf.udf(_misfit, _PLACE, useArrow=False)
