from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pipeline.schema_history.ddl.lexer import Kind, LexError, SqlMode, StatementContext, Token


def tokens(sql: str, sql_mode: int = 0, server_version: int | None = None) -> list[Token]:
    return StatementContext(sql_mode=sql_mode, server_version=server_version).tokens(sql)


def texts(sql: str, **options: int) -> list[str]:
    return [token.text for token in tokens(sql, **options)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a.b", [(Kind.WORD, "a"), (Kind.SIGN, "."), (Kind.WORD, "b")]),
        ("`a``b`.`c.d`", [(Kind.NAME, "a`b"), (Kind.SIGN, "."), (Kind.NAME, "c.d")]),
        ("db.2024", [(Kind.WORD, "db"), (Kind.SIGN, "."), (Kind.WORD, "2024")]),
        ("`db`.5x", [(Kind.NAME, "db"), (Kind.SIGN, "."), (Kind.WORD, "5x")]),
        ("1a 1e5 1.5 .5 0x0G", [
            (Kind.WORD, "1a"), (Kind.NUMBER, "1e5"), (Kind.NUMBER, "1.5"), (Kind.NUMBER, ".5"),
            (Kind.WORD, "0x0G"),
        ]),
        ("größe 表 $x", [(Kind.WORD, "größe"), (Kind.WORD, "表"), (Kind.WORD, "$x")]),
        ("x'00fF' 0xabc X''", [(Kind.BYTES, "00fF"), (Kind.BYTES, "0abc"), (Kind.BYTES, "")]),
        ("b'101' 0b01", [(Kind.BITS, "101"), (Kind.BITS, "01")]),
        ("N'é' , 'it''s', 'a' 'b'", [
            (Kind.STRING, "é"), (Kind.SIGN, ","), (Kind.STRING, "it's"), (Kind.SIGN, ","),
            (Kind.STRING, "ab"),
        ]),
        ("'a' \"b\" /* c */ 'd' -- e\n 'f'", [(Kind.STRING, "abdf")]),
        (r"'\n\\\'\%' '\q'", [(Kind.STRING, "\n\\'\\%q")]),
        ('"text"', [(Kind.STRING, "text")]),
        ("a -- b\nc # d\ne /* f */ g -1--2", [
            *((Kind.WORD, w) for w in "aceg"),
            (Kind.SIGN, "-"), (Kind.NUMBER, "1"), (Kind.SIGN, "-"), (Kind.SIGN, "-"),
            (Kind.NUMBER, "2"),
        ]),
        ("a /*!80023 INVISIBLE /* x */ */ b; ;", [(Kind.WORD, w) for w in ("a", "INVISIBLE", "b")]),
        ("a\0", [(Kind.WORD, "a")]),
    ],
)  # fmt: skip
def test_tokens_are_those_of_the_server(sql: str, expected: list[tuple[Kind, str]]) -> None:
    assert tokens(sql) == [Token(kind, text) for kind, text in expected]


def test_double_quotes_are_names_under_ansi_quotes() -> None:
    assert texts("'a' 'b' \"c\"", sql_mode=SqlMode.ANSI_QUOTES) == ["ab", "c"]
    assert tokens('"a""b"', SqlMode.ANSI_QUOTES) == [Token(Kind.NAME, 'a"b')]


def test_backslashes_are_plain_under_no_backslash_escapes() -> None:
    assert tokens(r"'a\'", SqlMode.NO_BACKSLASH_ESCAPES) == [Token(Kind.STRING, "a\\")]


@pytest.mark.parametrize(
    ("version", "expected"), [(80045, ["a"]), (90100, ["a", "NEW"]), (None, ["a", "NEW"])]
)
def test_code_for_a_later_server_is_a_comment(version: int | None, expected: list[str]) -> None:
    assert [t.text for t in tokens("a /*!90000 NEW */", 0, version)] == expected


@pytest.mark.parametrize("sql", ["'abc", "`abc", "a /* b", r"'abc\'", '"x'])
def test_truncated_text_is_an_error(sql: str) -> None:
    with pytest.raises(LexError):
        tokens(sql)


@given(st.text())
def test_any_text_lexes_or_raises_lex_error(text: str) -> None:
    try:
        found = tokens(text)
    except LexError:
        return
    assert all(token.text or token.kind not in (Kind.WORD, Kind.SIGN) for token in found)


@given(st.text())
def test_a_quoted_name_is_unquoted(name: str) -> None:
    assert tokens("`" + name.replace("`", "``") + "`") == [Token(Kind.NAME, name)]
