"""Values at paths of JSON documents, as MariaDB's functions return them, where that is certain.

MariaDB stores JSON as the inserted text and returns what it finds there: digits as written, and the
first of several members with the same name. Results are certain for scalars without escapes, in
documents in which no object repeats a name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, functions as sf, types as st

_FOUND = st.StructType(
    [st.StructField("value", st.StringType()), st.StructField("certain", st.BooleanType())]
)
_UNKNOWN: tuple[str | None, bool] = (None, False)
_NOTHING: tuple[str | None, bool] = (None, True)


class _UncertainError(ValueError):
    """Raised for a document for which the server's result is not certain."""


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


def json_at(function: str) -> Callable[[Column, Column], Column]:
    """Return `json_value`, `json_extract` or `json_unquote` (of json_extract) as a function.

    It takes a document and a path like `$.a.b`, and returns a struct of `value` and `certain`.
    """
    return _UDFS[function]


def _found(printed: Callable[[Any], str | None]) -> Callable[..., tuple[str | None, bool]]:
    def found(document: str | None, path: str) -> tuple[str | None, bool]:
        if document is None:
            return _NOTHING
        if "\\" in document:
            return _UNKNOWN
        try:
            return printed(_at(_parsed(document), path.split(".")[1:])), True
        except LookupError:
            return _NOTHING
        except ValueError:
            return _UNKNOWN

    return found


def _parsed(document: str) -> Any:
    return json.loads(
        document,
        parse_int=_Digits,
        parse_float=_Digits,
        parse_constant=_refused,
        object_pairs_hook=_members,
    )


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _UncertainError("a name is repeated")
    return found


def _refused(constant: str) -> Any:
    raise _UncertainError(constant)


def _at(value: Any, names: list[str]) -> Any:
    """Return the value at a path. Raises KeyError if there is none."""
    for name in names:
        if not isinstance(value, dict):
            raise _UncertainError("the path continues in a value that is not an object")
        value = value[name]
    return value


def _value(value: Any) -> str | None:
    if value is None or isinstance(value, (dict, list)):
        raise _UncertainError("not a scalar")
    return str(int(value)) if isinstance(value, bool) else str(value)


def _extract(value: Any) -> str | None:
    if isinstance(value, (dict, list)):
        raise _UncertainError("not a scalar")
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, _Digits) else f'"{value}"'


def _unquote(value: Any) -> str | None:
    text = _extract(value)
    return text if text is None or isinstance(value, _Digits) else text.strip('"')


_UDFS = {
    name: sf.udf(_found(printed), _FOUND, useArrow=False)
    for name, printed in (
        ("json_value", _value),
        ("json_extract", _extract),
        ("json_unquote", _unquote),
    )
}
