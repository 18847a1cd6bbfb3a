"""Literals of a DEFAULT as constants: numbers, strings, bytes, dates and times.

A string is in the connection's charset or in that of its introducer, which applies to the bytes as
the client sent them. Source: `literal`, `text_literal` and `temporal_literal` of MySQL's
`sql/sql_yacc.yy` and of MariaDB's, whose x'…' is a string where MySQL's may be a number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from decoder.columns.charsets.collations import COLLATIONS
from pipeline.catalog.ddl.charsets import can_hold, decoded, encoded
from pipeline.catalog.ddl.cursor import Cursor, ReadError
from pipeline.catalog.ddl.conversion_mode import ConversionMode
from pipeline.catalog.ddl.lexer import Kind, Notation, Token


class UnknownDefaultError(ValueError):
    """The value that existing rows got cannot be determined from the log."""


Part = Literal["datetime", "date", "time"]


@dataclass(frozen=True, slots=True)
class Text:
    """A string and the charset of its bytes; `introduced`: named by an introducer."""

    text: str
    charset: str = "utf8mb4"
    introduced: bool = False


@dataclass(frozen=True, slots=True)
class Bytes:
    """x'…', 0x…, b'…', or _binary'…' (`introduced`).

    `number`: in a numeric context it is a number.
    """

    raw: bytes
    number: bool = True
    introduced: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A typed date or time literal: DATE'…', {ts '…'}."""

    part: Part
    text: str


@dataclass(frozen=True, slots=True)
class Now:
    """The time when the statement began, with `fraction` digits after the second.

    `local`: written as LOCALTIME or LOCALTIMESTAMP.
    """

    part: Part = "datetime"
    utc: bool = False
    fraction: int = 0
    local: bool = False


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON value as text; unlike a string, it is embedded in other documents as a value."""

    text: str


Constant = None | Text | Bytes | Decimal | float | Moment | Now | Json
"""NULL; a string; bytes; an exact or approximate number; a date or time; the statement's time; a
JSON value."""

_WORDS: dict[str, Constant] = {"NULL": None, "TRUE": Decimal(1), "FALSE": Decimal(0)}
_MOMENTS: dict[str, Part] = {"DATE": "date", "TIME": "time", "TIMESTAMP": "datetime"}
_BRACED: dict[str, Part] = {"D": "date", "T": "time", "TS": "datetime"}
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


def literal(cursor: Cursor, mode: ConversionMode) -> Constant:
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


def _now(now: Now, cursor: Cursor) -> Now:
    if not cursor.peek().is_sign("("):
        return now
    inside = Cursor(cursor.group())
    return now if inside.done else replace(now, fraction=inside.integer())


def _braced(cursor: Cursor) -> Moment:
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
    return Bytes(
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
        raise UnknownDefaultError("N'…' from a client that does not send UTF-8")
    if _LOST in token.text or not can_hold(token.text, charset):
        raise UnknownDefaultError(f"a string with characters that {charset} lacks")
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
            return Bytes(raw, number=False, introduced=True)
        return Text(decoded(raw, charset), charset, introduced=True)
    except ValueError as error:
        raise UnknownDefaultError(f"_{charset} literal: {error}") from error
