"""The functions that generated columns may use: their arguments and results.

Some are certain only for some values, such as LOWER of ASCII text: see
`pipeline.gold.schema.generated`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pipeline.catalog.ddl.expressions import (
    NULL,
    Expression,
    UnknownExpressionError,
    alike,
    as_number,
    as_text,
    chosen,
    condition,
    operation,
    text_of,
)

FunctionReader = Callable[[Sequence[Expression]], Expression]

_PATH = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*)+")
_DATE_PARTS = {
    "YEAR": 4,
    **dict.fromkeys(("MONTH", "DAY", "DAYOFMONTH"), 2),
    "QUARTER": 1,
}
_TIME_PARTS = ("HOUR", "MINUTE", "SECOND")
_BYTE_HASHES = {"MD5": "md5", "SHA": "sha1", "SHA1": "sha1"}
_SHA2_BITS = ("0", "224", "256", "384", "512")
_UTF8 = ("utf8mb3", "utf8mb4")
_WIDE = ("", "ucs2", "utf16", "utf16le", "utf32")
"""Charsets in which an ASCII letter is not its single ASCII byte, and the unknown one (empty)."""
_COUNT_DIGITS = 10


def _concat(parts: Sequence[Expression]) -> Expression:
    if not parts:
        raise UnknownExpressionError("CONCAT without arguments")
    if any(part.kind == "null" for part in parts):
        return NULL
    texts = [as_text(part) for part in parts]
    return text_of(["concat", *(_printed(part) for part in parts)], texts)


def _concat_ws(parts: Sequence[Expression]) -> Expression:
    known = [part for part in parts[1:] if part.kind != "null"]
    if not known or parts[0].tree[0] != "text":
        raise UnknownExpressionError("CONCAT_WS with a separator that is not a constant")
    texts = [as_text(part) for part in (parts[0], *known)]
    return text_of(["concat_ws", parts[0].tree[1], *map(_printed, known)], texts)


def _printed(part: Expression) -> list[object]:
    """Return the tree of an argument of CONCAT, which converts numbers to text itself."""
    return part.tree if part.kind == "number" else as_text(part).tree


def _if(parts: Sequence[Expression]) -> Expression:
    _require_count("IF", parts, 3)
    return chosen([condition(parts[0])], parts[1:])


def _coalesce(parts: Sequence[Expression]) -> Expression:
    common, trees = alike(parts)
    return replace(common, tree=["coalesce", *trees])


def _nullif(parts: Sequence[Expression]) -> Expression:
    _require_count("NULLIF", parts, 2)
    left, right = as_number(parts[0]), as_number(parts[1])
    return chosen([["=", left.tree, right.tree]], [NULL, left])


def _of_text(function: str, parts: Sequence[Expression]) -> Expression:
    _require_count(function.upper(), parts, 1)
    text = as_text(parts[0])
    return text_of([function, text.tree], [text])


def _cased(function: str, parts: Sequence[Expression]) -> Expression:
    _require_count(function.upper(), parts, 1)
    text = as_text(parts[0])
    return text_of([function, ["ascii", text.tree]], [text])


def _ends(function: str, parts: Sequence[Expression]) -> Expression:
    _require_count(function.upper(), parts, 2)
    text = as_text(parts[0])
    return text_of([function, text.tree, _constant(function, parts[1], 0)], [text])


def _substring(parts: Sequence[Expression]) -> Expression:
    if len(parts) not in (2, 3):
        raise UnknownExpressionError("SUBSTRING without a position")
    text = as_text(parts[0])
    numbers = [
        _constant("SUBSTRING", one, least) for one, least in zip(parts[1:], (1, 0), strict=False)
    ]
    return text_of(["substring", text.tree, *numbers], [text])


def _char_length(parts: Sequence[Expression]) -> Expression:
    _require_count("CHAR_LENGTH", parts, 1)
    tree = ["char_length", as_text(parts[0]).tree]
    return Expression(tree, digits=_COUNT_DIGITS, whole=True, plain=True)


def _hash(function: str, parts: Sequence[Expression]) -> Expression:
    _require_count(function.upper(), parts, 1)
    return Expression([function, _bytes(parts[0])], "text", plain=True)


def _sha2(parts: Sequence[Expression]) -> Expression:
    _require_count("SHA2", parts, 2)
    bits = parts[1].tree
    if bits[0] != "number" or bits[1] not in _SHA2_BITS:
        raise UnknownExpressionError("SHA2 with a length that is not a constant")
    return Expression(["sha2", _bytes(parts[0]), int(bits[1]) or 256], "text", plain=True)


def _crc32(parts: Sequence[Expression]) -> Expression:
    _require_count("CRC32", parts, 1)
    return Expression(["crc32", _bytes(parts[0])], digits=_COUNT_DIGITS, whole=True, plain=True)


def _bytes(part: Expression) -> list[object]:
    """Return the tree of text whose bytes are known: UTF-8 or ASCII."""
    text = as_text(part)
    if wide := text.charsets.intersection(_WIDE):
        raise UnknownExpressionError(f"the bytes of text in {min(wide) or 'an unknown charset'}")
    return text.tree if text.charsets.issubset(_UTF8) else ["ascii", text.tree]


def _mod(parts: Sequence[Expression]) -> Expression:
    _require_count("MOD", parts, 2)
    return operation("mod", *parts)


def _abs(parts: Sequence[Expression]) -> Expression:
    _require_count("ABS", parts, 1)
    of = as_number(parts[0])
    return Expression(
        ["abs", of.tree, of.digits, of.scale],
        digits=of.digits,
        scale=of.scale,
        whole=of.whole,
        plain=of.plain,
    )


def _part_of_date(function: str, digits: int, parts: Sequence[Expression]) -> Expression:
    _require_count(function, parts, 1)
    kinds = ("datetime",) if function in _TIME_PARTS else ("date", "datetime")
    if parts[0].kind not in kinds:
        raise UnknownExpressionError(f"{function} of anything but a {' or '.join(kinds).upper()}")
    return Expression([function.lower(), parts[0].tree], digits=digits, whole=True, plain=True)


def _date(parts: Sequence[Expression]) -> Expression:
    _require_count("DATE", parts, 1)
    if parts[0].kind not in ("date", "datetime"):
        raise UnknownExpressionError("DATE of anything but a DATE or DATETIME")
    return Expression(["to_date", parts[0].tree], "date")


def _json_value(parts: Sequence[Expression]) -> Expression:
    return _of_json("json_value", parts)


def _json_extract(parts: Sequence[Expression]) -> Expression:
    return _of_json("json_extract", parts)


def _json_unquote(parts: Sequence[Expression]) -> Expression:
    _require_count("JSON_UNQUOTE", parts, 1)
    if parts[0].tree[0] != "json_extract":
        raise UnknownExpressionError("JSON_UNQUOTE of anything but JSON_EXTRACT")
    return replace(parts[0], tree=["json_unquote", *parts[0].tree[1:]])


def _of_json(function: str, parts: Sequence[Expression]) -> Expression:
    _require_count(function.upper(), parts, 2)
    path = parts[1].tree
    if path[0] != "text" or not _PATH.fullmatch(path[1]):
        raise UnknownExpressionError(f"{function.upper()} with a path other than '$.name'")
    document = as_text(parts[0])
    return text_of([function, document.tree, path[1]], [document])


def _constant(function: str, part: Expression, least: int) -> int:
    if part.tree[0] == "number" and part.whole and least <= int(part.tree[1]) < 1 << 31:
        return int(part.tree[1])
    raise UnknownExpressionError(f"{function.upper()} with a position that is not a constant")


def _require_count(function: str, parts: Sequence[Expression], count: int) -> None:
    if len(parts) != count:
        raise UnknownExpressionError(f"{function} with {len(parts)} arguments")


def _named(
    read: Callable[[str, Sequence[Expression]], Expression], **names: str
) -> dict[str, FunctionReader]:
    return {name: partial(read, function) for name, function in names.items()}


FUNCTIONS: Mapping[str, FunctionReader] = {
    "CONCAT": _concat,
    "CONCAT_WS": _concat_ws,
    "IF": _if,
    **dict.fromkeys(("COALESCE", "IFNULL", "NVL"), _coalesce),
    "NULLIF": _nullif,
    **_named(_cased, LOWER="lower", LCASE="lower", UPPER="upper", UCASE="upper"),
    **_named(_of_text, TRIM="trim", LTRIM="ltrim", RTRIM="rtrim"),
    **_named(_ends, LEFT="left", RIGHT="right"),
    **dict.fromkeys(("SUBSTRING", "SUBSTR", "MID"), _substring),
    **dict.fromkeys(("CHAR_LENGTH", "CHARACTER_LENGTH"), _char_length),
    **_named(_hash, **_BYTE_HASHES),
    "SHA2": _sha2,
    "CRC32": _crc32,
    "MOD": _mod,
    "ABS": _abs,
    **{name: partial(_part_of_date, name, digits) for name, digits in _DATE_PARTS.items()},
    **{name: partial(_part_of_date, name, 2) for name in _TIME_PARTS},
    "DATE": _date,
    "JSON_VALUE": _json_value,
    "JSON_EXTRACT": _json_extract,
    "JSON_UNQUOTE": _json_unquote,
}
"""Function readers by name in capitals."""
