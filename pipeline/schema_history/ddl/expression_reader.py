"""Parse the expressions of generated columns whose values are certain.

Supported are columns, numbers, strings, NULL, TRUE and FALSE, `+`, `-`, `*`, DIV and MOD,
comparisons of numbers, IS NULL, AND, OR, NOT, CASE, and the functions of `expression_functions`.

A table's model stores expressions as JSON of their tokens: not as text, because the reading of text
depends on its session, and because the columns that an expression names may be renamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from decoder.constants import BINARY_COLLATION, DATE_TYPES, INSTANT_TYPES, ColumnType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.charsets import charset_in
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, split
from pipeline.schema_history.ddl.expression_functions import FUNCTIONS
from pipeline.schema_history.ddl.expressions import (
    MOST_DIGITS,
    NULL,
    Expression,
    chosen,
    compared,
    condition,
    operation,
    truth,
)
from pipeline.schema_history.ddl.lexer import Kind, SqlMode, Token

INTEGER_DIGITS = {
    ColumnType.TINY: 3,
    ColumnType.SHORT: 5,
    ColumnType.INT24: 8,
    ColumnType.LONG: 10,
    ColumnType.LONGLONG: 20,
}
TEXT_TYPES = (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.VAR_STRING, ColumnType.BLOB)
_LABELS = (ColumnType.ENUM, ColumnType.SET)
_COMPARISONS = ("<=", ">=", "<>", "!=", "=", "<", ">")
_CONSTANTS = {
    "NULL": NULL,
    "TRUE": Expression(["number", "1"], digits=1, whole=True, plain=True),
    "FALSE": Expression(["number", "0"], digits=1, whole=True, plain=True),
}


def kept_expression(tokens: Iterable[Token]) -> str:
    """Return tokens as text for `expression_tokens`; empty for no tokens."""
    pairs = [[token.kind.value, token.text] for token in tokens]
    return json.dumps(pairs, ensure_ascii=False) if pairs else ""


def expression_tokens(kept: str) -> tuple[Token, ...]:
    """Return the tokens that `kept_expression` stored."""
    return tuple(Token(Kind(kind), text) for kind, text in json.loads(kept or "[]"))


def renamed_expression(kept: str, names: Mapping[str, str | None]) -> str:
    """Return the expression after an ALTER TABLE that renames columns (old names to new ones)."""
    new = {old.casefold(): name for old, name in names.items() if name is not None}
    tokens = expression_tokens(kept)
    return kept_expression(
        _renamed(token, new) if not _is_function(tokens, n) else token
        for n, token in enumerate(tokens)
    )


def printed_expression(kept: str) -> str:
    """Return the expression in readable form."""
    tokens = expression_tokens(kept)
    printed = ""
    for n, token in enumerate(tokens):
        joins = token.text in (")", ",") or printed.endswith("(") or not printed
        joins = joins or (token.is_sign("(") and _is_function(tokens, n - 1))
        word = f"'{token.text}'" if token.kind is Kind.STRING else token.text
        printed += word if joins else f" {word}"
    return printed


def _renamed(token: Token, names: Mapping[str, str]) -> Token:
    if token.kind not in (Kind.WORD, Kind.NAME) or token.text.casefold() not in names:
        return token
    return Token(Kind.NAME, names[token.text.casefold()])


def _is_function(tokens: tuple[Token, ...], place: int) -> bool:
    called = place + 1 < len(tokens) and tokens[place + 1].is_sign("(")
    return called and tokens[place].kind is Kind.WORD


def read_expression(
    tokens: Sequence[Token],
    table: Mapping[str, ColumnDefinition],
    mode: ConversionMode,
) -> Expression:
    """Parse an expression; `table` has the columns by case-folded name.

    Raises `UnknownValueError`.
    """
    if mode.changes_expressions:
        raise UnknownValueError("an expression under a sql_mode that changes its meaning")
    try:
        return _Reader(table, mode).whole(TokenCursor(tokens))
    except ReadError as error:
        raise UnknownValueError(str(error)) from error


class _Reader:
    """A recursive-descent parser with one method per precedence level."""

    def __init__(self, table: Mapping[str, ColumnDefinition], mode: ConversionMode) -> None:
        self.table = table
        self.mode = mode

    def whole(self, cursor: TokenCursor) -> Expression:
        found = self._or(cursor)
        if not cursor.done:
            raise UnknownValueError(f"{cursor.peek().text} in its expression")
        return found

    def _or(self, cursor: TokenCursor) -> Expression:
        found = self._and(cursor)
        while cursor.accept("OR"):
            found = truth(["or", condition(found), condition(self._and(cursor))])
        return found

    def _and(self, cursor: TokenCursor) -> Expression:
        found = self._not(cursor)
        while cursor.accept("AND"):
            found = truth(["and", condition(found), condition(self._not(cursor))])
        return found

    def _not(self, cursor: TokenCursor) -> Expression:
        if cursor.accept("NOT"):
            return truth(["not", condition(self._not(cursor))])
        return self._predicate(cursor)

    def _predicate(self, cursor: TokenCursor) -> Expression:
        found = self._sum(cursor)
        while (sign := _comparison(cursor)) or cursor.peek().is_word("IS"):
            if sign:
                found = compared(sign, found, self._sum(cursor))
            else:
                found = self._is_null(cursor, found)
        return found

    def _is_null(self, cursor: TokenCursor, of: Expression) -> Expression:
        cursor.expect("IS")
        negated = cursor.accept("NOT")
        cursor.expect("NULL")
        tree = of.tree if of.kind == "other" else ["is_null", of.tree]
        if of.kind in ("date", "datetime") and of.tree[0] == "date":
            tree = ["no_date", of.tree[1]]
        return truth(["not", tree] if negated else tree)

    def _sum(self, cursor: TokenCursor) -> Expression:
        found = self._product(cursor)
        while cursor.peek().is_sign("+") or cursor.peek().is_sign("-"):
            sign = cursor.next().text
            found = operation(sign, found, self._product(cursor))
        return found

    def _product(self, cursor: TokenCursor) -> Expression:
        found = self._signed(cursor)
        while sign := _multiplying(cursor):
            found = operation(sign, found, self._signed(cursor))
        return found

    def _signed(self, cursor: TokenCursor) -> Expression:
        if cursor.accept_sign("!"):  # MariaDB's SHOW CREATE TABLE prints NOT as !
            return truth(["not", condition(self._signed(cursor))])
        if not cursor.accept_sign("-"):
            return self._operand(cursor)
        found = self._signed(cursor)
        zero = Expression(["number", "0"], digits=1, whole=True)
        return operation("-", zero, found)

    def _operand(self, cursor: TokenCursor) -> Expression:
        if cursor.peek().is_sign("("):
            return self.whole(TokenCursor(cursor.group()))
        token = cursor.next()
        if token.kind is Kind.STRING:
            charsets = frozenset(() if token.text.isascii() else ("utf8mb4",))
            return Expression(["text", token.text], "text", plain=True, charsets=charsets)
        if token.kind is Kind.NUMBER and "e" not in token.text.lower():
            return _number(token.text)
        if token.is_word(*_CONSTANTS):
            return _CONSTANTS[token.text.upper()]
        if token.is_word("CASE"):
            return self._case(cursor)
        if token.kind is Kind.WORD and cursor.peek().is_sign("("):
            return self._function(token.text, cursor)
        if token.kind not in (Kind.WORD, Kind.NAME):
            raise UnknownValueError(f"{token.text} in its expression")
        return self._column(token.text)

    def _function(self, name: str, cursor: TokenCursor) -> Expression:
        known = FUNCTIONS.get(name.upper())
        of_json = name.upper().startswith("JSON_")  # MySQL prints documents differently
        if known is None or (of_json and not self.mode.mariadb):
            raise UnknownValueError(f"{name} in its expression")
        counts, read = known
        parts = [self.whole(TokenCursor(part)) for part in split(cursor.group())]
        if len(parts) not in counts:
            raise UnknownValueError(f"{name.upper()} with {len(parts)} arguments")
        return read(*parts)

    def _case(self, cursor: TokenCursor) -> Expression:
        of = None if cursor.peek().is_word("WHEN") else self._or(cursor)
        conditions: list[list[Any]] = []
        results: list[Expression] = []
        while cursor.accept("WHEN"):
            when = self._or(cursor)
            conditions.append(condition(when if of is None else compared("=", of, when)))
            cursor.expect("THEN")
            results.append(self._or(cursor))
        results.append(self._or(cursor) if cursor.accept("ELSE") else NULL)
        cursor.expect("END")
        return chosen(conditions, results)

    def _column(self, name: str) -> Expression:
        column = self.table.get(name.casefold())
        if column is None:
            raise UnknownValueError(f"{name} in its expression")
        if column.type in INTEGER_DIGITS:
            digits = INTEGER_DIGITS[column.type]
            tree: list[Any] = ["column", column.name, digits, 0]
            return Expression(tree, digits=digits, whole=True, plain=not column.unsigned)
        if column.type is ColumnType.NEWDECIMAL and column.precision <= MOST_DIGITS:
            tree = ["column", column.name, column.precision, column.scale]
            return Expression(tree, digits=column.precision, scale=column.scale)
        if column.type in DATE_TYPES and not self.mode.dates_are_text:
            kind = "date" if column.type in (ColumnType.DATE, ColumnType.NEWDATE) else "datetime"
            return Expression(["date", column.name], kind, type=column.type.name)
        return self._text_column(column)

    def _text_column(self, column: ColumnDefinition) -> Expression:
        padded = self.mode.sql_mode & SqlMode.PAD_CHAR_TO_FULL_LENGTH
        if column.type is ColumnType.STRING and padded:
            raise UnknownValueError("a CHAR read with its padding (PAD_CHAR_TO_FULL_LENGTH)")
        is_text = column.type in TEXT_TYPES and column.collation != BINARY_COLLATION
        if not is_text and column.type not in _LABELS:
            lossy = column.type in INSTANT_TYPES and not self.mode.dates_are_text
            tree = ["no_date" if lossy else "no_value", column.name]
            return Expression(tree, "other", type=column.type.name)
        charsets = frozenset({charset_in(column.collation)})
        return Expression(["column", column.name, 0, 0], "text", plain=True, charsets=charsets)


def _comparison(cursor: TokenCursor) -> str:
    signs = ""
    while len(signs) < 3 and cursor.peek(len(signs)).text in ("<", ">", "=", "!"):
        if cursor.peek(len(signs)).kind is not Kind.SIGN:
            break
        signs += cursor.peek(len(signs)).text
    if signs and signs not in _COMPARISONS:
        raise UnknownValueError(f"{signs} in its expression")
    for _ in signs:
        cursor.next()
    return "<>" if signs == "!=" else signs


def _multiplying(cursor: TokenCursor) -> str:
    if cursor.accept_sign("*"):
        return "*"
    if cursor.accept("DIV"):
        return "div"
    return "mod" if cursor.accept("MOD") or cursor.accept_sign("%") else ""


def _number(text: str) -> Expression:
    whole, point, fraction = text.partition(".")
    digits, scale = max(len((whole + fraction).lstrip("0")), 1), len(fraction)
    if max(digits, scale) > MOST_DIGITS:
        raise UnknownValueError(f"a number with more than {MOST_DIGITS} digits")
    return Expression(
        ["number", text], digits=max(digits, scale), scale=scale, whole=not point, plain=not point
    )
