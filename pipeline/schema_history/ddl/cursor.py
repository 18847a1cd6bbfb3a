"""A cursor over a statement's tokens, for recursive-descent parsers."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.schema_history.ddl.lexer import Kind, Token


class ReadError(ValueError):
    """The tokens do not match the grammar that this parser knows."""


END = Token(Kind.SIGN, "")
"""`TokenCursor.peek` returns this after the last token."""


class TokenCursor:
    """A cursor over tokens in order; an `accept…` method advances only if it matches."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token, or the one `ahead` tokens after it; `END` after the last."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else END

    @property
    def done(self) -> bool:
        """True if all tokens have been read."""
        return self._at >= len(self._tokens)

    def next(self) -> Token:
        """Return the next token and advance. Raises `ReadError` at the end."""
        if self.done:
            raise ReadError("the statement ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def accept(self, *words: str) -> bool:
        """Skip this sequence of unquoted words; return True if all of it was there."""
        for ahead, word in enumerate(words):
            if not self.peek(ahead).is_word(word):
                return False
        self._at += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Skip one of these unquoted words and return it in capitals."""
        if not self.done and self.peek().is_word(*words):
            return self.next().text.upper()
        return None

    def accept_sign(self, sign: str) -> bool:
        """Skip this punctuation character; return True if it was there."""
        if self.peek().is_sign(sign):
            self._at += 1
            return True
        return False

    def expect(self, *words: str) -> None:
        """Skip these words. Raises `ReadError` if they do not follow."""
        if not self.accept(*words):
            raise ReadError(f"expected {' '.join(words)}, found {self.peek().text!r}")

    def name(self) -> str:
        """Read an identifier, quoted or not."""
        token = self.next()
        if token.kind not in (Kind.WORD, Kind.NAME):
            raise ReadError(f"expected a name, found {token.text!r}")
        return token.text

    def string_or_name(self) -> str:
        """Read an identifier or string: charsets, engines and collations are written as either."""
        token = self.next()
        if token.kind is Kind.SIGN:
            raise ReadError(f"expected a name, found {token.text!r}")
        return token.text

    def integer(self) -> int:
        """Read a whole number."""
        token = self.next()
        if token.kind is not Kind.NUMBER or not token.text.isdigit():
            raise ReadError(f"expected a number, found {token.text!r}")
        return int(token.text)

    def group(self) -> list[Token]:
        """Return the tokens inside the parentheses that follow, and advance past them."""
        if not self.accept_sign("("):
            raise ReadError(f"expected (, found {self.peek().text!r}")
        start, depth = self._at, 1
        while depth:
            token = self.next()
            depth += token.is_sign("(") - token.is_sign(")")
        return list(self._tokens[start : self._at - 1])

    def skip_group(self) -> bool:
        """Skip a parenthesized group; return True if one was there."""
        if self.peek().is_sign("("):
            self.group()
            return True
        return False

    def rest(self) -> list[Token]:
        """Return the remaining tokens and advance to the end."""
        left = list(self._tokens[self._at :])
        self._at = len(self._tokens)
        return left


def skip_set_statement(cursor: TokenCursor) -> None:
    """Skip MariaDB's SET STATEMENT name = value, … FOR before a statement."""
    if not cursor.accept("SET", "STATEMENT"):
        return
    while not (cursor.done or cursor.accept("FOR")):
        if not cursor.skip_group():
            cursor.next()


def split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at the commas outside parentheses; no tokens give no parts."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += token.is_sign("(") - token.is_sign(")")
        if depth == 0 and token.is_sign(","):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if parts != [[]] else []
