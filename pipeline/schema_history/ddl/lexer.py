"""Split a MySQL statement into tokens, as the server's own lexer does (`sql/sql_lex.cc`).

Logged statements are as users typed them, so all of its rules count: versioned comments (`/*!80023
… */` is code), the session's `ANSI_QUOTES` and `NO_BACKSLASH_ESCAPES`, identifiers of any script
and with leading digits, hex and bit literals. Text that no server would accept raises `LexError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, IntFlag
from itertools import islice


class LexError(ValueError):
    """The text ends inside a quoted name, string or comment, or has a stray character."""


class SqlMode(IntFlag):
    """The bits of a session's `sql_mode` that DDL depends on (`sql/query_options.h`)."""

    REAL_AS_FLOAT = 0x1
    ANSI_QUOTES = 0x4
    ORACLE = 0x200  # of MariaDB
    NO_AUTO_VALUE_ON_ZERO = 0x80000
    NO_BACKSLASH_ESCAPES = 0x100000
    STRICT_TRANS_TABLES = 0x200000
    STRICT_ALL_TABLES = 0x400000
    NO_ZERO_IN_DATE = 0x800000
    ALLOW_INVALID_DATES = 0x2000000
    HIGH_NOT_PRECEDENCE = 0x20000000
    PAD_CHAR_TO_FULL_LENGTH = 0x80000000
    TIME_TRUNCATE_FRACTIONAL = 0x100000000  # of MySQL
    EMPTY_STRING_IS_NULL = 0x100000000  # of MariaDB


class Kind(Enum):
    """The kind of a token."""

    WORD = "word"  # a keyword or an unquoted name
    NAME = "name"  # a quoted name
    STRING = "string"
    NUMBER = "number"
    BYTES = "bytes"  # x'…' and 0x…
    BITS = "bits"  # b'…' and 0b…
    SIGN = "sign"  # one character of punctuation


class Notation(Enum):
    """The notation of a literal, where another notation has a different meaning."""

    NATIONAL = "N'…'"
    QUOTED_HEX = "x'…'"  # not 0x…


@dataclass(frozen=True, slots=True)
class Token:
    """One token: `text` without quotes and escapes, hex digits for BYTES, 0s and 1s for BITS."""

    kind: Kind
    text: str
    notation: Notation | None = field(default=None, compare=False)

    def is_word(self, *words: str) -> bool:
        """Return True for an unquoted word, in any case, that is one of these (in capitals)."""
        return self.kind is Kind.WORD and self.text.upper() in words

    def is_sign(self, sign: str) -> bool:
        """Return True for this punctuation character."""
        return self.kind is Kind.SIGN and self.text == sign


_SPACE = re.compile(r"(?:\s+|--(?=[\s\x00]|$)[^\n]*|#[^\n]*)+")
_VERSIONED = re.compile(r"/\*(M?)!(\d{5,6})?")
_NOT_OF_MARIADB = range(50700, 100000)
"""MySQL versions whose versioned comments MariaDB skips, because its own features differ there."""
_BYTES = re.compile(r"[xX]'((?:[0-9a-fA-F]{2})*)'|0x([0-9a-fA-F]+)(?![\w$])")
_BITS = re.compile(r"[bB]'([01]*)'|0b([01]+)(?![\w$])")
_NUMBER = re.compile(r"\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[\w$]+")
_NAME_END = re.compile(r"[\w$`\"]")
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


@dataclass(frozen=True, slots=True)
class StatementContext:
    """The context that a statement is read in: default schema, sql_mode and server.

    `server_version` is the server's number (80045 for 8.0.45): like that server, skip versioned
    comments for later versions and for the other of MySQL and MariaDB.
    """

    schema: str | None = None
    sql_mode: int = 0
    server_version: int | None = None
    mariadb: bool = False

    def tokens(self, query: str) -> list[Token]:
        """Return a statement's tokens, without its closing semicolons. Raises `LexError`."""
        found = list(_Lexer(query, self).run())
        while found and found[-1].is_sign(";"):
            found.pop()
        return found

    def readable_tokens(self, query: str) -> list[Token]:
        """Return the tokens before the first lexical error."""
        found: list[Token] = []
        with suppress(LexError):
            found.extend(_Lexer(query, self).run())
        return found

    def first_tokens(self, query: str, count: int) -> list[Token]:
        """Return the first `count` tokens; the rest is not read. Raises `LexError`."""
        return list(islice(_Lexer(query, self).run(), count))


class _Lexer:
    def __init__(self, text: str, session: StatementContext) -> None:
        self.text = text
        self.at = 0
        self.ansi_quotes = bool(session.sql_mode & SqlMode.ANSI_QUOTES)
        self.escapes = not session.sql_mode & SqlMode.NO_BACKSLASH_ESCAPES
        self.session = session
        self.in_versioned = False

    def run(self) -> Iterator[Token]:
        while self._skip():
            yield self._next()

    def _skip(self) -> bool:
        """Skip space and comments; return True if anything follows."""
        while self.at < len(self.text):
            if match := _SPACE.match(self.text, self.at):
                self.at = match.end()
            elif self.in_versioned and self.text.startswith("*/", self.at):
                self.in_versioned = False
                self.at += 2
            elif self.text.startswith("/*", self.at):
                self._comment()
            else:
                return self.text[self.at] != "\0"
        return False

    def _comment(self) -> None:
        match = _VERSIONED.match(self.text, self.at)
        if match and self._is_code(match.group(2), of_mariadb=bool(match.group(1))):
            self.in_versioned = True
            self.at = match.end()
            return
        end = self.text.find("*/", self.at + 2)
        if end < 0:
            raise LexError("the statement ends inside a comment")
        self.at = end + 2

    def _is_code(self, version: str | None, *, of_mariadb: bool) -> bool:
        """Return True if the server executed a versioned comment (None: one without a version)."""
        server = self.session
        if of_mariadb and not server.mariadb:
            return False
        if version is None:
            return True
        if server.mariadb and not of_mariadb and int(version) in _NOT_OF_MARIADB:
            return False
        return server.server_version is None or int(version) <= server.server_version

    def _next(self) -> Token:
        char = self.text[self.at]
        if char == "`" or (char == '"' and self.ansi_quotes):
            return Token(Kind.NAME, self._quoted(char, escapes=False))
        if char in "'\"":
            return Token(Kind.STRING, self._strings())
        if char in "nN" and self.text.startswith("'", self.at + 1):
            self.at += 1
            return Token(Kind.STRING, self._strings(), Notation.NATIONAL)
        return self._literal() or self._word() or self._sign()

    def _strings(self) -> str:
        """Read adjacent strings as one, whatever their quotes: `'a' "b"` is `ab`."""
        quotes = ("'",) if self.ansi_quotes else ("'", '"')
        parts: list[str] = []
        while self.text.startswith(quotes, self.at):
            parts.append(self._quoted(self.text[self.at], escapes=self.escapes))
            self._skip()
        return "".join(parts)

    def _quoted(self, quote: str, *, escapes: bool) -> str:
        parts: list[str] = []
        at = self.at + 1
        stop = re.compile(rf"[{quote}\\]" if escapes else quote)
        while match := stop.search(self.text, at):
            parts.append(self.text[at : match.start()])
            at = match.end()
            following = self.text[at : at + 1]
            if match.group() == "\\":
                parts.append(_unescape(following))
                at += 1
            elif following == quote:
                parts.append(quote)
                at += 1
            else:
                self.at = at
                return "".join(parts)
        raise LexError(f"the statement ends inside {quote}…{quote}")

    def _literal(self) -> Token | None:
        for kind, pattern in ((Kind.BYTES, _BYTES), (Kind.BITS, _BITS)):
            if match := pattern.match(self.text, self.at):
                self.at = match.end()
                digits = match.group(1) if match.group(1) is not None else match.group(2)
                odd = kind is Kind.BYTES and len(digits) % 2 == 1
                notation = Notation.QUOTED_HEX if match.group()[0] in "xX" else None
                return Token(kind, "0" + digits if odd else digits, notation)
        match = _NUMBER.match(self.text, self.at)
        if not match or self._starts_name(match):
            return None
        self.at = match.end()
        return Token(Kind.NUMBER, match.group())

    def _starts_name(self, number: re.Match[str]) -> bool:
        """Return True if digits begin a name: `1a`, or any word after a dot (`db.2024`)."""
        dot = self.at if number.group()[0] == "." else self.at - 1
        if dot > 0 and self.text[dot] == "." and _NAME_END.match(self.text, dot - 1):
            return True
        word = _WORD.match(self.text, self.at)
        return bool(word and word.end() > number.end())

    def _word(self) -> Token | None:
        match = _WORD.match(self.text, self.at)
        if not match:
            return None
        self.at = match.end()
        return Token(Kind.WORD, match.group())

    def _sign(self) -> Token:
        self.at += 1
        return Token(Kind.SIGN, self.text[self.at - 1])


def _unescape(char: str) -> str:
    """Return what a backslash and this character stand for; `\\%` and `\\_` keep the backslash."""
    if char in ("%", "_"):
        return "\\" + char
    return _ESCAPES.get(char, char)
