"""Evaluate a DEFAULT's tokens to a constant, as the server's parser would, before any conversion.

Supported are literals, the statement's time, `+`, `-` and `*` of exact numbers, CONCAT of strings,
JSON_ARRAY, JSON_OBJECT and CAST … AS JSON of constants. Anything that differs between rows
(`uuid()`, `rand()`, another column) and any unsupported expression has no constant.

A string is in the connection's charset or in that of its introducer, which applies to the bytes as
the client sent them. Source: `literal`, `text_literal` and `temporal_literal` of MySQL's
`sql/sql_yacc.yy` and of MariaDB's, whose x'…' is a string where MySQL's may be a number.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DecimalException, Inexact
from typing import Literal

from decoder.columns.charsets import COLLATIONS
from pipeline.schema_history.ddl.charsets import can_hold, decoded, encoded
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, split
from pipeline.schema_history.ddl.lexer import Kind, Notation, SqlMode, Token

MomentPart = Literal["datetime", "date", "time"]


@dataclass(frozen=True, slots=True)
class Text:
    """A string and the charset of its bytes; `introduced`: named by an introducer."""

    text: str
    charset: str = "utf8mb4"
    introduced: bool = False


@dataclass(frozen=True, slots=True)
class ByteString:
    """x'…', 0x…, b'…', or _binary'…' (`introduced`).

    `number`: in a numeric context it is a number.
    """

    raw: bytes
    number: bool = True
    introduced: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A typed date or time literal: DATE'…', {ts '…'}."""

    part: MomentPart
    text: str


@dataclass(frozen=True, slots=True)
class Now:
    """The time when the statement began, with `fraction` digits after the second.

    `local`: written as LOCALTIME or LOCALTIMESTAMP.
    """

    part: MomentPart = "datetime"
    utc: bool = False
    fraction: int = 0
    local: bool = False


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON value as text; unlike a string, it is embedded in other documents as a value."""

    text: str


Constant = None | Text | ByteString | Decimal | float | Moment | Now | Json
"""NULL; a string; bytes; an exact or approximate number; a date or time; the statement's time; a
JSON value."""

_MOST_DIGITS, _MOST_DECIMALS = 65, 30
"""Limits of the server's exact numbers."""
_EXACT = Context(prec=4 * _MOST_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)
_EXACT.traps[Inexact] = True
_OPERATIONS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
}
_JSON_FUNCTIONS = ("JSON_ARRAY", "JSON_OBJECT", "CAST")
_WORDS: dict[str, Constant] = {"NULL": None, "TRUE": Decimal(1), "FALSE": Decimal(0)}
_MOMENTS: dict[str, MomentPart] = {"DATE": "date", "TIME": "time", "TIMESTAMP": "datetime"}
_BRACED: dict[str, MomentPart] = {"D": "date", "T": "time", "TS": "datetime"}
_NOW = {
    **dict.fromkeys(("CURRENT_TIMESTAMP", "NOW"), Now()),
    **dict.fromkeys(("LOCALTIME", "LOCALTIMESTAMP"), Now(local=True)),
    "UTC_TIMESTAMP": Now(utc=True),
    **dict.fromkeys(("CURRENT_DATE", "CURDATE"), Now("date")),
    "UTC_DATE": Now("date", utc=True),
    **dict.fromkeys(("CURRENT_TIME", "CURTIME"), Now("time")),
    "UTC_TIME": Now("time", utc=True),
}
_LOST = "�"
"""The replacement character, for statement bytes that are invalid in its charset."""


def constant(tokens: Sequence[Token], mode: ConversionMode) -> Constant:
    """Return the value of a DEFAULT. Raises `UnknownValueError` if it is not a known constant."""
    plain = mode.sql_mode & SqlMode.NO_BACKSLASH_ESCAPES and is_expression(tokens)
    if plain and any("\\" in token.text for token in tokens if token.kind is Kind.STRING):
        # The server stores the expression with escapes, but does not interpret them on reading.
        raise UnknownValueError("a backslash in an expression under NO_BACKSLASH_ESCAPES")
    try:
        return _whole(TokenCursor(tokens), mode)
    except (ReadError, DecimalException) as error:
        text = " ".join(token.text for token in tokens)
        raise UnknownValueError(f"expression ({text})") from error


def is_expression(tokens: Sequence[Token]) -> bool:
    """Return True if a DEFAULT is in parentheses, so that it is evaluated when it is used."""
    return bool(tokens) and tokens[0].is_sign("(")


def _whole(cursor: TokenCursor, mode: ConversionMode) -> Constant:
    value = _sum(cursor, mode)
    if not cursor.done:
        raise ReadError(f"{cursor.peek().text!r} is not supported")
    return value


def _sum(cursor: TokenCursor, mode: ConversionMode) -> Constant:
    value = _product(cursor, mode)
    while cursor.peek().is_sign("+") or cursor.peek().is_sign("-"):
        value = _operation(cursor.next().text, value, _product(cursor, mode))
    return value


def _product(cursor: TokenCursor, mode: ConversionMode) -> Constant:
    value = _signed(cursor, mode)
    while cursor.peek().is_sign("*"):
        value = _operation(cursor.next().text, value, _signed(cursor, mode))
    return value


def _operation(sign: str, left: Constant, right: Constant) -> Decimal:
    if not (isinstance(left, Decimal) and isinstance(right, Decimal)):
        raise ReadError("arithmetic of inexact numbers")
    result = _OPERATIONS[sign](left, right)
    _, digits, exponent = result.as_tuple()
    if len(digits) > _MOST_DIGITS or -int(exponent) > _MOST_DECIMALS:
        raise ReadError("a number with too many digits")
    return result


def _signed(cursor: TokenCursor, mode: ConversionMode) -> Constant:
    if cursor.accept_sign("+"):
        value = _signed(cursor, mode)
        if isinstance(value, (Decimal, float)):
            return value
        raise ReadError("not a number")
    if not cursor.accept_sign("-"):
        return _operand(cursor, mode)
    value = _signed(cursor, mode)
    if isinstance(value, Decimal):
        return value.copy_negate() if value else value.copy_abs()
    if isinstance(value, float):
        return operator.neg(value)
    raise ReadError("not a number")


def _operand(cursor: TokenCursor, mode: ConversionMode) -> Constant:
    if cursor.peek().is_sign("("):
        value = _whole(TokenCursor(cursor.group()), mode)
    elif function := cursor.accept_any(*_JSON_FUNCTIONS):
        value = _json(function, cursor.group(), mode)
    elif cursor.accept("CONCAT"):
        value = _concat([constant(part, mode) for part in split(cursor.group())])
    else:
        value = _literal(cursor, mode)
    while isinstance(value, Text) and cursor.accept("COLLATE"):
        cursor.string_or_name()
    return value


def _concat(parts: Sequence[Constant]) -> Text:
    """Evaluate CONCAT(…) of strings in one charset."""
    texts = [part for part in parts if isinstance(part, Text)]
    if len(texts) < len(parts) or len({part.charset for part in texts}) != 1:
        raise ReadError("CONCAT of anything but strings in one charset")
    text = "".join(part.text for part in texts)
    return Text(text, texts[0].charset, any(part.introduced for part in texts))


def _json(word: str, inside: Sequence[Token], mode: ConversionMode) -> Json:
    """Evaluate JSON_ARRAY(…) and JSON_OBJECT(…) of constants, or CAST(… AS JSON)."""
    if word == "CAST":
        if [token.text.upper() for token in inside[-2:]] != ["AS", "JSON"]:
            raise ReadError("an unsupported CAST")
        value = constant(inside[:-2], mode)
        return Json(value.text) if isinstance(value, Text) else Json(_json_text(value))
    values = [_json_part(part, mode) for part in split(inside)]
    if word == "JSON_ARRAY":
        return Json(f"[{', '.join(values)}]")
    keys = values[::2]
    if len(values) % 2 or not all(key.startswith('"') for key in keys):
        raise ReadError("JSON_OBJECT with a key that is not a string")
    if len(set(keys)) < len(keys):
        raise ReadError("JSON_OBJECT with a repeated key")
    members = zip(keys, values[1::2], strict=True)
    return Json("{" + ", ".join(f"{key}: {value}" for key, value in members) + "}")


def _json_part(part: Sequence[Token], mode: ConversionMode) -> str:
    # In MariaDB they are the numbers 1 and 0.
    if not mode.mariadb and len(part) == 1 and part[0].is_word("TRUE", "FALSE"):
        return part[0].text.lower()
    value = constant(part, mode)
    if mode.mariadb and isinstance(value, float):
        raise UnknownValueError("an approximate number in a MariaDB JSON document")
    return _json_text(value)


def _json_text(value: Constant) -> str:
    if isinstance(value, (Json, Text)):
        return value.text if isinstance(value, Json) else json.dumps(value.text, ensure_ascii=False)
    if value is None:
        return "null"
    if isinstance(value, (Decimal, float)):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    raise UnknownValueError("a JSON value of bytes or times")


def _literal(cursor: TokenCursor, mode: ConversionMode) -> Constant:
    """Read a literal. Raises `ReadError` if it is not a supported one."""
    if cursor.peek().is_sign("{"):
        return _braced(cursor)
    token = cursor.next()
    if token.kind is not Kind.WORD:
        return _plain(token, mode)
    word = token.text.upper()
    if word in _WORDS:
        return _WORDS[word]
    if word in _NOW:
        return _now(_NOW[word], cursor)
    if word in _MOMENTS and cursor.peek().kind is Kind.STRING:
        return Moment(_MOMENTS[word], cursor.next().text)
    if word.startswith("_"):
        return _introduced(word[1:].lower(), cursor.next(), mode)
    raise ReadError("not a literal")


def _now(now: Now, cursor: TokenCursor) -> Now:
    if not cursor.peek().is_sign("("):
        return now
    inside = TokenCursor(cursor.group())
    return now if inside.done else replace(now, fraction=inside.integer())


def _braced(cursor: TokenCursor) -> Moment:
    cursor.accept_sign("{")
    part, token = _BRACED.get(cursor.next().text.upper()), cursor.next()
    if part is None or token.kind is not Kind.STRING or not cursor.accept_sign("}"):
        raise ReadError("not a literal")
    return Moment(part, token.text)


def _plain(token: Token, mode: ConversionMode) -> Constant:
    if token.kind is Kind.STRING:
        return _string(token, mode)
    if token.kind is Kind.NUMBER:
        return float(token.text) if "e" in token.text.lower() else Decimal(token.text)
    return ByteString(
        _bytes(token), number=not (mode.mariadb and token.notation is Notation.QUOTED_HEX)
    )


def _bytes(token: Token) -> bytes:
    if token.kind is Kind.BYTES:
        return bytes.fromhex(token.text)
    if token.kind is Kind.BITS:
        return int(token.text or "0", 2).to_bytes((len(token.text) + 7) // 8, "big")
    raise ReadError("not a literal")


def _string(token: Token, mode: ConversionMode) -> Text | None:
    if not token.text and mode.empty_is_null:
        return None
    national = token.notation is Notation.NATIONAL
    charset = "utf8mb3" if national else mode.connection_charset
    foreign = national and mode.client_charset not in ("utf8mb3", "utf8mb4")
    if foreign and not token.text.isascii():
        raise UnknownValueError("N'…' from a client that does not send UTF-8")
    if _LOST in token.text or not can_hold(token.text, charset):
        raise UnknownValueError(f"a string with characters that {charset} lacks")
    return Text(token.text, charset)


def _introduced(charset: str, token: Token, mode: ConversionMode) -> Constant:
    """Read bytes as the client sent them, as text in the introducer's charset."""
    charset = {"utf8": "utf8mb3"}.get(charset, charset)
    if charset not in COLLATIONS:
        raise ReadError("not a literal")
    try:
        if token.kind is Kind.STRING:
            if _LOST in token.text:
                raise ValueError("bytes that are invalid in the statement's charset")
            if not token.text and mode.empty_is_null:
                return None
            raw = encoded(token.text, mode.client_charset)
        else:
            raw = _bytes(token)
        if charset == "binary":
            return ByteString(raw, number=False, introduced=True)
        return Text(decoded(raw, charset), charset, introduced=True)
    except ValueError as error:
        raise UnknownValueError(f"_{charset} literal: {error}") from error
