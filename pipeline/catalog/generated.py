"""What a generated column holds in the rows that are there when it is added, where that is certain.

Understood are columns, numbers and strings, `+`, `-` and `*` of integers and decimals, CONCAT of
text and signed integers. A NULL in it makes the whole NULL. The result is a tree of lists, which
travels as JSON: `["column", name, precision, scale]` (zeros for text), `["number", digits]`,
`["text", characters]`, `["concat", part, …]`, and `[operator, left, right, precision, scale]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from decoder.constants import BINARY_COLLATION, ColumnType
from decoder.definition import ColumnDefinition
from pipeline.catalog.actions import NewColumn
from pipeline.catalog.conversion_mode import (
    CAST,
    CLAMP,
    CUT,
    ROUND,
    ROUNDED,
    RTRIM,
    ConversionMode,
    UnknownConversionError,
)
from pipeline.catalog.cursor import Cursor, ReadError, split
from pipeline.catalog.lexer import Kind, SqlMode
from pipeline.catalog.text_conversions import characters

_DIGITS = {
    ColumnType.TINY: 3,
    ColumnType.SHORT: 5,
    ColumnType.INT24: 8,
    ColumnType.LONG: 10,
    ColumnType.LONGLONG: 20,
}
_BITS = {
    ColumnType.TINY: 8,
    ColumnType.SHORT: 16,
    ColumnType.INT24: 24,
    ColumnType.LONG: 32,
    ColumnType.LONGLONG: 64,
}
_BIGINT_DIGITS = 20
"""Of whole numbers: the server refuses a result with more."""
_MOST_DIGITS = 38
"""Of Delta's decimals."""
_TEXT = (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.VAR_STRING, ColumnType.BLOB)
_LABELS = (ColumnType.ENUM, ColumnType.SET)


class UnknownExpressionError(ValueError):
    """What an expression gives cannot be told for certain."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of the tree; a number has `digits` in all, `scale` of them behind its point, and
    `whole` is a number of integers alone."""

    tree: list[Any]
    digits: int = 0
    scale: int = 0
    whole: bool = False
    plain: bool = False  # as text, it is what SELECT prints


def generated(
    column: NewColumn, table: Iterable[ColumnDefinition], mode: ConversionMode
) -> tuple[str, str]:
    """The expression of a column as JSON, and how what it gives is stored (see `conversions`).

    `table` are the columns that it can be of. Raises `UnknownExpressionError`.
    """
    known = {one.name.casefold(): one for one in table}
    cursor = Cursor(column.expression)
    try:
        node = _sum(cursor, known, mode)
        if not cursor.done:
            raise UnknownExpressionError(f"{cursor.peek().text} in its expression")
        return json.dumps(node.tree, ensure_ascii=False), _stored(node, column, mode)
    except (ReadError, UnknownConversionError) as error:
        raise UnknownExpressionError(str(error)) from error


def _stored(node: _Node, column: NewColumn, mode: ConversionMode) -> str:
    """How the result comes into its column: what does not fit is an error, if it is STORED."""
    target = column.definition
    mode.require_strict("a value may not fit")
    if not column.stored and not _fits(node, target):
        if target.type in _BITS and node.digits and not (target.unsigned or mode.mariadb):
            return f"{CLAMP}:{_BITS[target.type]}"
        raise UnknownExpressionError("a VIRTUAL column that a value may not fit")
    if target.type in _DIGITS and node.digits:
        return ROUND if node.scale else CAST
    if target.type is ColumnType.NEWDECIMAL and node.digits and target.precision <= _MOST_DIGITS:
        return ROUNDED
    if target.type in _TEXT and target.collation != BINARY_COLLATION and not node.digits:
        if target.type is ColumnType.STRING:
            return RTRIM
        return f"{CUT}:{characters(target)}"
    raise UnknownExpressionError(f"its value as {target.type.name}")


def _fits(node: _Node, target: ColumnDefinition) -> bool:
    """Whether every number has a place there; of text, the character set is not known."""
    if not node.digits or target.unsigned:
        return False
    before_point = node.digits - node.scale + (1 if node.scale else 0)  # rounding may carry
    if target.type is ColumnType.NEWDECIMAL:
        return before_point <= target.precision - target.scale
    return before_point < _DIGITS.get(target.type, 0) - (target.type is ColumnType.LONGLONG)


def _sum(cursor: Cursor, table: Mapping[str, ColumnDefinition], mode: ConversionMode) -> _Node:
    found = _product(cursor, table, mode)
    while cursor.peek().is_sign("+") or cursor.peek().is_sign("-"):
        sign = cursor.next().text
        found = _operation(sign, found, _product(cursor, table, mode))
    return found


def _product(cursor: Cursor, table: Mapping[str, ColumnDefinition], mode: ConversionMode) -> _Node:
    found = _operand(cursor, table, mode)
    while cursor.accept_sign("*"):
        found = _operation("*", found, _operand(cursor, table, mode))
    return found


def _operation(sign: str, left: _Node, right: _Node) -> _Node:
    if not (left.digits and right.digits):
        raise UnknownExpressionError("arithmetic of what is no integer or decimal")
    if sign == "*":
        digits, scale = left.digits + right.digits, left.scale + right.scale
    else:
        scale = max(left.scale, right.scale)
        digits = max(left.digits - left.scale, right.digits - right.scale) + scale + 1
    whole = left.whole and right.whole
    digits = min(digits, _BIGINT_DIGITS) if whole else digits
    if digits >= _MOST_DIGITS:  # Spark gives digits behind the point away for one more before it
        raise UnknownExpressionError(f"a number of {digits} digits")
    return _Node([sign, left.tree, right.tree, digits, scale], digits, scale, whole)


def _operand(cursor: Cursor, table: Mapping[str, ColumnDefinition], mode: ConversionMode) -> _Node:
    if cursor.peek().is_sign("("):
        inner = Cursor(cursor.group())
        found = _sum(inner, table, mode)
        if not inner.done:
            raise UnknownExpressionError(f"{inner.peek().text} in its expression")
        return found
    if cursor.peek().is_word("CONCAT") and cursor.peek(1).is_sign("("):
        cursor.next()
        return _concat([_whole(part, table, mode) for part in map(Cursor, split(cursor.group()))])
    token = cursor.next()
    if token.kind is Kind.STRING:
        return _Node(["text", token.text], plain=True)
    if token.kind is Kind.NUMBER and "e" not in token.text.lower():
        return _number(token.text)
    if token.kind not in (Kind.WORD, Kind.NAME) or cursor.peek().is_sign("("):
        raise UnknownExpressionError(f"{token.text} in its expression")
    return _column(token.text, table, mode)


def _whole(cursor: Cursor, table: Mapping[str, ColumnDefinition], mode: ConversionMode) -> _Node:
    found = _sum(cursor, table, mode)
    if not cursor.done:
        raise UnknownExpressionError(f"{cursor.peek().text} in its expression")
    return found


def _concat(parts: list[_Node]) -> _Node:
    if not all(part.plain for part in parts):
        raise UnknownExpressionError("CONCAT of what is no text or signed integer")
    return _Node(["concat", *(part.tree for part in parts)], plain=True)


def _number(text: str) -> _Node:
    whole, point, fraction = text.partition(".")
    digits, scale = max(len((whole + fraction).lstrip("0")), 1), len(fraction)
    return _Node(["number", text], max(digits, scale), scale, whole=not point)


def _column(name: str, table: Mapping[str, ColumnDefinition], mode: ConversionMode) -> _Node:
    column = table.get(name.casefold())
    if column is None:
        raise UnknownExpressionError(f"{name} in its expression")
    if column.type in _DIGITS:
        digits = _DIGITS[column.type]
        tree: list[Any] = ["column", column.name, digits, 0]
        return _Node(tree, digits, 0, whole=True, plain=not column.unsigned)
    if column.type is ColumnType.NEWDECIMAL and column.precision <= _MOST_DIGITS:
        tree = ["column", column.name, column.precision, column.scale]
        return _Node(tree, column.precision, column.scale)
    if column.type is ColumnType.STRING and mode.sql_mode & SqlMode.PAD_CHAR_TO_FULL_LENGTH:
        raise UnknownExpressionError("a CHAR that is read with its padding")
    if column.type in _LABELS or (column.type in _TEXT and column.collation != BINARY_COLLATION):
        return _Node(["column", column.name, 0, 0], plain=True)
    raise UnknownExpressionError(f"column {column.name} of type {column.type.name}")
