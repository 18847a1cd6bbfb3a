"""A place in a statement's tokens: what a recursive-descent reader needs, and no grammar."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.catalog.ddl.lexer import Kind, Token


class ReadError(ValueError):
    """The tokens are not what MySQL's grammar has at this place, or not what we know of it."""


END = Token(Kind.SIGN, "")
"""What `peek` gives behind the last token."""


class Cursor:
    """Reads tokens one after the other; every `accept` moves on only when it matches."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self, ahead: int = 0) -> Token:
        """The token at hand, or one further on; `END` behind the last."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else END

    @property
    def done(self) -> bool:
        """Whether all tokens are read."""
        return self._at >= len(self._tokens)

    def next(self) -> Token:
        """The token at hand, moving over it. Raises `ReadError` at the end."""
        if self.done:
            raise ReadError("the statement ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def accept(self, *words: str) -> bool:
        """Over these unquoted words, one after the other, if all are there."""
        if all(self.peek(i).is_word(word) for i, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def accept_any(self, *words: str) -> str | None:
        """Over one of these unquoted words; which one, in capitals."""
        if not self.done and self.peek().is_word(*words):
            return self.next().text.upper()
        return None

    def accept_sign(self, sign: str) -> bool:
        """Over that character of punctuation."""
        if self.peek().is_sign(sign):
            self._at += 1
            return True
        return False

    def expect(self, *words: str) -> None:
        """Over these words. Raises `ReadError` if they are not there."""
        if not self.accept(*words):
            raise ReadError(f"expected {' '.join(words)}, found {self.peek().text!r}")

    def name(self) -> str:
        """One identifier, quoted or not."""
        token = self.next()
        if token.kind not in (Kind.WORD, Kind.NAME):
            raise ReadError(f"expected a name, found {token.text!r}")
        return token.text

    def string_or_name(self) -> str:
        """An identifier or a string: charsets, engines and collations are written as either."""
        token = self.next()
        if token.kind is Kind.SIGN:
            raise ReadError(f"expected a name, found {token.text!r}")
        return token.text

    def integer(self) -> int:
        """One whole number."""
        token = self.next()
        if token.kind is not Kind.NUMBER or not token.text.isdigit():
            raise ReadError(f"expected a number, found {token.text!r}")
        return int(token.text)

    def group(self) -> list[Token]:
        """The tokens inside the parentheses at hand, moving over both."""
        if not self.accept_sign("("):
            raise ReadError(f"expected (, found {self.peek().text!r}")
        start, depth = self._at, 1
        while depth:
            token = self.next()
            depth += token.is_sign("(") - token.is_sign(")")
        return list(self._tokens[start : self._at - 1])

    def skip_group(self) -> bool:
        """Over parentheses and all in them, if they are at hand."""
        if self.peek().is_sign("("):
            self.group()
            return True
        return False

    def rest(self) -> list[Token]:
        """All that is left, moving to the end."""
        left = list(self._tokens[self._at :])
        self._at = len(self._tokens)
        return left


def behind_settings(cursor: Cursor) -> None:
    """Over MariaDB's SET STATEMENT name = value, … FOR, which may stand before a statement."""
    if not cursor.accept("SET", "STATEMENT"):
        return
    while not (cursor.done or cursor.accept("FOR")):
        if not cursor.skip_group():
            cursor.next()


def split(tokens: Sequence[Token]) -> list[list[Token]]:
    """The parts between the commas that are in no parentheses; none for no tokens."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += token.is_sign("(") - token.is_sign(")")
        if depth == 0 and token.is_sign(","):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if parts != [[]] else []
