"""Find what else changes when a table's rows do: by foreign keys, by triggers, through views.

Logged statements are parsed for this as far as possible: a table that a foreign key references has
children, and the text of a trigger or view names every table that it may change, directly or
through the routines that it calls. Anything created before the log begins is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor
from pipeline.schema_history.ddl.effects import TableName
from pipeline.schema_history.ddl.lexer import Kind, LexError, StatementContext, Token
from pipeline.schema_history.ddl.names import read_name

CONSEQUENCES_PATTERN = r"(?i)\b(trigger|references|procedure|function|view)\b"
"""Matches every statement that declares such a consequence (others may match too)."""


@dataclass(slots=True)
class Consequences:
    """The known consequences: children by parent, words of triggers by table, of routines by name.

    A view counts as a table with a trigger of the words of its text. Names are compared
    case-insensitively: too many tables are better than too few.
    """

    children: dict[str, set[TableName]] = field(default_factory=lambda: defaultdict(set))
    triggers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    routines: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    views: set[TableName] = field(default_factory=set)

    def note(self, query: str, schema: str | None, sql_mode: int = 0) -> None:
        """Record a statement of a session; one that cannot be parsed is ignored."""
        session = StatementContext(schema, sql_mode)
        try:
            self._note(session.tokens(query), session)
        except (LexError, ReadError):
            return

    def _note(self, found: list[Token], session: StatementContext) -> None:
        words = [token.text.upper() if token.kind is Kind.WORD else "" for token in found]
        if words[:1] == ["CREATE"] and "TRIGGER" in words and "ON" in words:
            table = read_name(TokenCursor(found[words.index("ON") + 1 :]), session.schema)
            self.triggers[_folded(table)] |= _names(found)
        elif words[:1] == ["CREATE"] and "VIEW" in words:
            start = found[words.index("VIEW") + 1 :]
            view = read_name(TokenCursor(_skip_if_exists(start)), session.schema)
            self.views.add(view)
            self.triggers[_folded(view)] |= _names(start)
        elif words[:1] == ["CREATE"] and (kind := _routine(words)) is not None:
            name = read_name(TokenCursor(_skip_if_exists(found[kind + 1 :])), session.schema)
            self.routines[name.table.casefold()] |= _names(found)
        elif "TABLE" in words[:4] and "REFERENCES" in words:
            start = _skip_if_exists(found[words.index("TABLE") + 1 :])
            child = read_name(TokenCursor(start), session.schema)
            for at, word in enumerate(words):
                if word == "REFERENCES":
                    parent = read_name(TokenCursor(found[at + 1 :]), child.schema)
                    self.children[_folded(parent)].add(child)

    def of(
        self, known: Collection[TableName], left_out: Collection[TableName] = ()
    ) -> dict[str, list[str]]:
        """Return, by `schema.table`, everything that a change of its rows may change, itself first.

        Only tables that change others, and views, are included. `known` are the existing tables;
        `left_out` are other tables to return consequences for.
        """
        closed = {}
        views = self.views.difference(known)
        for name in {*known, *left_out, *views}:
            own = [] if name in views else [str(name)]
            others = sorted(map(str, self._reached(name, known) - {name} - views))
            if others:
                closed[str(name)] = [*own, *others]
        return closed

    def _reached(self, name: TableName, known: Collection[TableName]) -> set[TableName]:
        reached, left = {name}, [name]
        while left:
            current = _folded(left.pop())
            named = self._closed_words(self.triggers.get(current, ()))
            there = (*known, *self.views)
            found = {other for other in there if other.table.casefold() in named}
            left += [*((found | self.children.get(current, set())) - reached)]
            reached |= set(left)
        return reached

    def _closed_words(self, words: Iterable[str]) -> set[str]:
        """Return the words and, transitively, those of the routines that they name."""
        closed: set[str] = set()
        left = set(words)
        while left:
            closed |= left
            left = {w for name in left for w in self.routines.get(name, ())} - closed
        return closed


def with_consequences(tables: Iterable[str], consequences: Mapping[str, list[str]]) -> list[str]:
    """Return these tables and everything that a change of them may change."""
    return sorted({name for table in tables for name in consequences.get(table, [table])})


def _folded(name: TableName) -> str:
    return str(name).casefold()


def _names(found: Iterable[Token]) -> set[str]:
    return {token.text.casefold() for token in found if token.kind in (Kind.WORD, Kind.NAME)}


def _routine(words: list[str]) -> int | None:
    return next((n for n, word in enumerate(words) if word in ("PROCEDURE", "FUNCTION")), None)


def _skip_if_exists(found: list[Token]) -> list[Token]:
    """Return the tokens without IF NOT EXISTS or IF EXISTS."""
    cursor = TokenCursor(found)
    if cursor.accept("IF"):
        cursor.accept("NOT")
        cursor.accept("EXISTS")
    return cursor.rest()
