"""Expressions of generated columns as a table's model keeps them: their tokens, as JSON.

Tokens, since how a text is read depends on the session that it is from, and since columns that an
expression names may be renamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pipeline.catalog.ddl.lexer import Kind, Token


def kept_expression(tokens: Iterable[Token]) -> str:
    """A text that `expression_tokens` reads back; empty for no tokens."""
    pairs = [[token.kind.value, token.text] for token in tokens]
    return json.dumps(pairs, ensure_ascii=False) if pairs else ""


def expression_tokens(kept: str) -> tuple[Token, ...]:
    """The tokens that `kept_expression` was given."""
    return tuple(Token(Kind(kind), text) for kind, text in json.loads(kept or "[]"))


def renamed_expression(kept: str, names: Mapping[str, str | None]) -> str:
    """The expression after an ALTER TABLE: old names of columns to new ones."""
    new = {old.casefold(): name for old, name in names.items() if name is not None}
    tokens = expression_tokens(kept)
    return kept_expression(
        _renamed(token, new) if not _is_function(tokens, n) else token
        for n, token in enumerate(tokens)
    )


def printed_expression(kept: str) -> str:
    """The expression for people."""
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
