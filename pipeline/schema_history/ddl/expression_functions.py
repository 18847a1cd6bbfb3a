"""The functions that generated columns may use: their arguments and results.

Some are certain only for some values, such as LOWER of ASCII text: see
`pipeline.gold.schema.generated`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import partial

from pipeline.schema_history.ddl.conversion_mode import UnknownValueError
from pipeline.schema_history.ddl.expressions import (
    NULL,
    Expression,
    alike,
    as_number,
    as_text,
    chosen,
    condition,
    operation,
    text_of,
)

_PATH = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*)+")
_DATE_PARTS = {
    "YEAR": 4,
    **dict.fromkeys(("MONTH", "DAY", "DAYOFMONTH"), 2),
    "QUARTER": 1,
}
_TIME_PARTS = ("HOUR", "MINUTE", "SECOND")
_SHA2_BITS = ("0", "224", "256", "384", "512")
_UTF8 = ("utf8mb3", "utf8mb4")
_WIDE = ("", "ucs2", "utf16", "utf16le", "utf32")
"""Charsets in which an ASCII letter is not its single ASCII byte, and the unknown one (empty)."""
_COUNT_DIGITS = 10


def _concat(*parts: Expression) -> Expression:
    if any(part.kind == "null" for part in parts):
        return NULL
    texts = [as_text(part) for part in parts]
    return text_of(["concat", *(_printed(part) for part in parts)], texts)


def _concat_ws(separator: Expression, *parts: Expression) -> Expression:
    known = [part for part in parts if part.kind != "null"]
    if not known or separator.tree[0] != "text":
        raise UnknownValueError("CONCAT_WS with a separator that is not a constant")
    texts = [as_text(part) for part in (separator, *known)]
    return text_of(["concat_ws", separator.tree[1], *map(_printed, known)], texts)


def _printed(part: Expression) -> list[object]:
    """Return the tree of an argument of CONCAT, which converts numbers to text itself."""
    return part.tree if part.kind == "number" else as_text(part).tree


def _if(test: Expression, *results: Expression) -> Expression:
    return chosen([condition(test)], results)


def _coalesce(*parts: Expression) -> Expression:
    common, trees = alike(parts)
    return replace(common, tree=["coalesce", *trees])


def _nullif(one: Expression, other: Expression) -> Expression:
    left, right = as_number(one), as_number(other)
    return chosen([["=", left.tree, right.tree]], [NULL, left])


def _of_text(function: str, part: Expression) -> Expression:
    text = as_text(part)
    return text_of([function, text.tree], [text])


def _cased(function: str, part: Expression) -> Expression:
    text = as_text(part)
    return text_of([function, ["ascii", text.tree]], [text])


def _ends(function: str, part: Expression, length: Expression) -> Expression:
    text = as_text(part)
    return text_of([function, text.tree, _constant(function, length, 0)], [text])


def _substring(part: Expression, *places: Expression) -> Expression:
    text = as_text(part)
    numbers = [
        _constant("SUBSTRING", one, least) for one, least in zip(places, (1, 0), strict=False)
    ]
    return text_of(["substring", text.tree, *numbers], [text])


def _char_length(part: Expression) -> Expression:
    return _whole(["char_length", as_text(part).tree], _COUNT_DIGITS)


def _whole(tree: list[object], digits: int) -> Expression:
    """Return an integer that is not negative."""
    return Expression(tree, digits=digits, whole=True, plain=True)


def _hash(function: str, part: Expression) -> Expression:
    return Expression([function, _bytes(part)], "text", plain=True)


def _sha2(part: Expression, length: Expression) -> Expression:
    bits = length.tree
    if bits[0] != "number" or bits[1] not in _SHA2_BITS:
        raise UnknownValueError("SHA2 with a length that is not a constant")
    return Expression(["sha2", _bytes(part), int(bits[1]) or 256], "text", plain=True)


def _crc32(part: Expression) -> Expression:
    return _whole(["crc32", _bytes(part)], _COUNT_DIGITS)


def _bytes(part: Expression) -> list[object]:
    """Return the tree of text whose bytes are known: UTF-8 or ASCII."""
    text = as_text(part)
    if wide := text.charsets.intersection(_WIDE):
        raise UnknownValueError(f"the bytes of text in {min(wide) or 'an unknown charset'}")
    return text.tree if text.charsets.issubset(_UTF8) else ["ascii", text.tree]


def _abs(part: Expression) -> Expression:
    number = as_number(part)
    return replace(number, tree=["abs", number.tree, number.digits, number.scale])


def _part_of_date(function: str, digits: int, part: Expression) -> Expression:
    kinds = ("datetime",) if function in _TIME_PARTS else ("date", "datetime")
    if part.kind not in kinds:
        raise UnknownValueError(f"{function} of anything but a {' or '.join(kinds).upper()}")
    return _whole([function.lower(), part.tree], digits)


def _date(part: Expression) -> Expression:
    if part.kind not in ("date", "datetime"):
        raise UnknownValueError("DATE of anything but a DATE or DATETIME")
    return Expression(["to_date", part.tree], "date")


def _json_unquote(part: Expression) -> Expression:
    if part.tree[0] != "json_extract":
        raise UnknownValueError("JSON_UNQUOTE of anything but JSON_EXTRACT")
    return replace(part, tree=["json_unquote", *part.tree[1:]])


def _of_json(function: str, part: Expression, place: Expression) -> Expression:
    path = place.tree
    if path[0] != "text" or not _PATH.fullmatch(path[1]):
        raise UnknownValueError(f"{function.upper()} with a path other than '$.name'")
    document = as_text(part)
    return text_of([function, document.tree, path[1]], [document])


def _constant(function: str, part: Expression, least: int) -> int:
    if part.tree[0] == "number" and part.whole and least <= int(part.tree[1]) < 1 << 31:
        return int(part.tree[1])
    raise UnknownValueError(f"{function.upper()} with a position that is not a constant")


_ONE, _TWO, _SOME = (1,), (2,), range(1, 1 << 16)
FUNCTIONS: Mapping[str, tuple[Container[int], Callable[..., Expression]]] = {
    "CONCAT": (_SOME, _concat),
    "CONCAT_WS": (_SOME, _concat_ws),
    "IF": ((3,), _if),
    **dict.fromkeys(("COALESCE", "IFNULL", "NVL"), (_SOME, _coalesce)),
    "NULLIF": (_TWO, _nullif),
    **dict.fromkeys(("LOWER", "LCASE"), (_ONE, partial(_cased, "lower"))),
    **dict.fromkeys(("UPPER", "UCASE"), (_ONE, partial(_cased, "upper"))),
    **{name: (_ONE, partial(_of_text, name.lower())) for name in ("TRIM", "LTRIM", "RTRIM")},
    **{name: (_TWO, partial(_ends, name.lower())) for name in ("LEFT", "RIGHT")},
    **dict.fromkeys(("SUBSTRING", "SUBSTR", "MID"), ((2, 3), _substring)),
    **dict.fromkeys(("CHAR_LENGTH", "CHARACTER_LENGTH"), (_ONE, _char_length)),
    "MD5": (_ONE, partial(_hash, "md5")),
    **dict.fromkeys(("SHA", "SHA1"), (_ONE, partial(_hash, "sha1"))),
    "SHA2": (_TWO, _sha2),
    "CRC32": (_ONE, _crc32),
    "MOD": (_TWO, partial(operation, "mod")),
    "ABS": (_ONE, _abs),
    **{
        name: (_ONE, partial(_part_of_date, name, digits))
        for name, digits in {**_DATE_PARTS, **dict.fromkeys(_TIME_PARTS, 2)}.items()
    },
    "DATE": (_ONE, _date),
    "JSON_VALUE": (_TWO, partial(_of_json, "json_value")),
    "JSON_EXTRACT": (_TWO, partial(_of_json, "json_extract")),
    "JSON_UNQUOTE": (_ONE, _json_unquote),
}
"""By name in capitals: how many arguments a function has, and the reader of their expressions."""
