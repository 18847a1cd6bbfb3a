"""A DEFAULT's tokens to a constant: what MySQL's parser would fold it to, before any type.

Literals are read here; arithmetic in an expression default (`(60 * 60)`) is left to sqlglot.
Anything that is not the same for every row (`uuid()`, `rand()`, another column) has no constant.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.simplify import simplify

from pipeline.catalog.cursor import Cursor, ReadError, split
from pipeline.catalog.lexer import Kind, Token


class UnknownDefaultError(ValueError):
    """The value that existing rows got cannot be told from the log."""


@dataclass(frozen=True, slots=True)
class Now:
    """The time at which the statement began: as date and time, the date alone, or the time."""

    part: Literal["datetime", "date", "time"] = "datetime"
    utc: bool = False


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON value, as text: unlike a string, it stands for itself inside of another."""

    text: str


Constant = None | str | bytes | Decimal | float | Now | Json
"""NULL; a string; bytes of x'…' and b'…'; an exact or approximate number; the statement's time; a
JSON value."""

_NOW = {
    **dict.fromkeys(("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"), Now()),
    "UTC_TIMESTAMP": Now(utc=True),
    **dict.fromkeys(("CURRENT_DATE", "CURDATE"), Now("date")),
    "UTC_DATE": Now("date", utc=True),
    **dict.fromkeys(("CURRENT_TIME", "CURTIME"), Now("time")),
    "UTC_TIME": Now("time", utc=True),
}
_WORDS: dict[str, Constant] = {"NULL": None, "TRUE": Decimal(1), "FALSE": Decimal(0)}
_ENCODINGS = {"_LATIN1": "cp1252", "_ASCII": "ascii", "_BINARY": "utf-8"}
"""Python's codecs for introducers before x'…'; all others that occur are Unicode's own."""


def constant(tokens: Sequence[Token]) -> Constant:
    """The value of a DEFAULT. Raises `UnknownDefaultError` for one that is no constant."""
    inner = _without_parentheses(tokens)
    cursor = Cursor(inner)
    try:
        value = _literal(cursor)
        if cursor.done:
            return value
    except ReadError:
        pass
    return _folded(inner)


def _without_parentheses(tokens: Sequence[Token]) -> Sequence[Token]:
    cursor = Cursor(tokens)
    while cursor.peek().is_sign("("):
        inner = cursor.group()
        if not cursor.done:
            return tokens
        tokens = inner
        cursor = Cursor(tokens)
    return tokens


def _literal(cursor: Cursor) -> Constant:
    if cursor.accept_sign("-"):
        return _negated(_plain(cursor.next()))
    cursor.accept_sign("+")
    token = cursor.next()
    if token.kind is not Kind.WORD:
        return _plain(token)
    word = token.text.upper()
    if word in _WORDS:
        return _WORDS[word]
    if word in _NOW:
        cursor.skip_group()
        return _NOW[word]
    if word.startswith("_"):
        return _introduced(word, cursor.next())
    if word in ("DATE", "TIME", "TIMESTAMP") and cursor.peek().kind is Kind.STRING:
        return cursor.next().text
    return _json(word, cursor)


def _plain(token: Token) -> Constant:
    if token.kind is Kind.STRING:
        return token.text
    if token.kind is Kind.NUMBER:
        return float(token.text) if "e" in token.text.lower() else Decimal(token.text)
    if token.kind is Kind.BYTES:
        return bytes.fromhex(token.text)
    if token.kind is Kind.BITS:
        return int(token.text or "0", 2).to_bytes((len(token.text) + 7) // 8, "big")
    raise ReadError("not a literal")


def _negated(value: Constant) -> Constant:
    if isinstance(value, (Decimal, float)):
        return -value
    raise ReadError("not a number")


def _introduced(introducer: str, token: Token) -> Constant:
    value = _plain(token)
    if not isinstance(value, bytes) or introducer == "_BINARY":
        return value
    encoding = _ENCODINGS.get(introducer, introducer.strip("_").lower().replace("mb4", ""))
    try:
        return value.decode(encoding)
    except (LookupError, UnicodeDecodeError) as error:
        raise UnknownDefaultError(f"{introducer.lower()} literal: {error}") from error


def _json(word: str, cursor: Cursor) -> Constant:
    """JSON_ARRAY(…) and JSON_OBJECT(…) of constants, CAST(… AS JSON)."""
    if word not in ("JSON_ARRAY", "JSON_OBJECT", "CAST"):
        raise ReadError("not a literal")
    inside = cursor.group()
    if word == "CAST":
        if [token.text.upper() for token in inside[-2:]] != ["AS", "JSON"]:
            raise ReadError("not a literal")
        value = constant(inside[:-2])
        return Json(value) if isinstance(value, str) else Json(_json_text(value))
    values = [_json_part(part) for part in split(inside)]
    if word == "JSON_ARRAY":
        return Json(f"[{', '.join(values)}]")
    members = zip(values[::2], values[1::2], strict=True)
    return Json("{" + ", ".join(f"{key}: {value}" for key, value in members) + "}")


def _json_part(part: Sequence[Token]) -> str:
    if len(part) == 1 and part[0].is_word("TRUE", "FALSE"):
        return part[0].text.lower()
    return _json_text(constant(part))


def _json_text(value: Constant) -> str:
    if isinstance(value, Json):
        return value.text
    if value is None or isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (Decimal, float)):
        return str(value)
    raise UnknownDefaultError("a JSON value of bytes or times")


def _folded(tokens: Sequence[Token]) -> Constant:
    """What sqlglot folds an expression to: numbers under + − *, and joined strings."""
    text = " ".join(_spelled(token) for token in tokens)
    try:
        expression = simplify(sqlglot.parse_one(text, dialect="mysql"), dialect="mysql")
    except SqlglotError as error:
        raise UnknownDefaultError(f"expression ({text})") from error
    sign = Decimal(-1) if isinstance(expression, exp.Neg) else Decimal(1)
    literal = expression.this if isinstance(expression, exp.Neg) else expression
    if not isinstance(literal, exp.Literal):
        raise UnknownDefaultError(f"expression ({text})")
    return literal.name if literal.is_string else sign * Decimal(literal.name)


def _spelled(token: Token) -> str:
    if token.kind is Kind.STRING:
        return "'" + token.text.replace("\\", "\\\\").replace("'", "''") + "'"
    if token.kind is Kind.NAME:
        return "`" + token.text.replace("`", "``") + "`"
    return {Kind.BYTES: f"x'{token.text}'", Kind.BITS: f"b'{token.text}'"}.get(
        token.kind, token.text
    )
