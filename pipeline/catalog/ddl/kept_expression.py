"""Store expressions of generated columns in a table's model, as JSON of their tokens.

Tokens, not text, because the reading of text depends on its session, and because the columns that
an expression names may be renamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pipeline.catalog.ddl.lexer import Kind, Token


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
