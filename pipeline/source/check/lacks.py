"""Where a privilege lacks: what conf's patterns want against what the user was given and sees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pipeline.settings import Settings
from pipeline.source.check.facts import ServerFacts, SourceTable
from pipeline.source.check.privileges import Scope

_WILD = re.compile(r"\[[^\]]+\]|[*?\[]")
_LONG = "\0" * 65
"""What no name has in it, and longer than any: in a grant only a `%` is as much as that."""


@dataclass(frozen=True, slots=True)
class Lacks:
    """`scopes`: where it has to be granted; `blind`: patterns of which nothing is seen, and no
    scope says them; `unsure`: patterns of which all that is seen is granted, and others may be."""

    scopes: tuple[Scope, ...] = ()
    blind: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What settings want on a server of a user, for whom any privilege of `names` will do."""

    facts: ServerFacts
    settings: Settings
    names: frozenset[str]

    def lacks(self) -> Lacks:
        """Of all patterns together."""
        found = [self._lacks(pattern) for pattern in self.settings.include or ("*.*",)]
        return Lacks(
            _smallest([scope for one in found for scope in one.scopes]),
            tuple(pattern for one in found for pattern in one.blind),
            tuple(pattern for one in found for pattern in one.unsure),
        )

    def _lacks(self, pattern: str) -> Lacks:
        schema, table = pattern.split(".", 1)
        if any(fnmatchcase(_filled(pattern, _LONG), out) for out in self.settings.exclude):
            return Lacks()
        if not _WILD.search(pattern):
            return Lacks(() if self._has(Scope(schema, table)) else (Scope(schema, table),))
        seen = [one for one in self._seen() if fnmatchcase(one.name, pattern)]
        scopes = [*self._taken_away(schema, table)]
        scopes += [
            self._granted_with(one, table)
            for one in seen
            if not self._has(Scope(one.schema, one.table))
        ]
        if scopes:
            return Lacks(tuple(scopes))
        # A grant for short and long names alike is one for all that match.
        if all(self._has(Scope(_filled(schema, by))) for by in ("", _LONG)):
            return Lacks()
        return Lacks(unsure=(pattern,)) if seen else _unseen(pattern)

    def _has(self, scope: Scope) -> bool:
        return self.facts.privileges.has(self.names, scope)

    def _seen(self) -> Iterator[SourceTable]:
        for one in self.facts.tables:
            if one.kind == "BASE TABLE" and self.settings.wanted(one.schema, one.table):
                yield one

    def _taken_away(self, schema: str, table: str) -> Iterator[Scope]:
        """Schemas that a partial revoke hides, though a grant for all would have them."""
        some = _filled(table, _LONG)
        for grant in self.facts.privileges.grants:
            name = grant.scope.schema
            if (
                grant.revoked
                and name is not None
                and fnmatchcase(name, schema)
                and self.settings.wanted(name, some)
                and not self._has(scope := Scope(name, None if _WILD.search(table) else table))
            ):
                yield scope

    def _granted_with(self, one: SourceTable, table: str) -> Scope:
        """The schema of a table if all of it is wanted, else the table."""
        is_cut = any(fnmatchcase(one.schema, out.split(".", 1)[0]) for out in self.settings.exclude)
        return Scope(one.schema, None if table == "*" and not is_cut else one.table)


def _unseen(pattern: str) -> Lacks:
    """Of a pattern of which the user sees nothing: GRANT can say a schema, and everything."""
    schema, table = pattern.split(".", 1)
    if pattern == "*.*":
        return Lacks((Scope(),))
    if table == "*" and not _WILD.search(schema):
        return Lacks((Scope(schema),))
    return Lacks(blind=(pattern,))


def _filled(pattern: str, by: str) -> str:
    """A name that matches: `by` for each asterisk, and what no name has for any one character."""
    return _WILD.sub(lambda found: by if found[0] == "*" else "\0", pattern)


def _smallest(scopes: list[Scope]) -> tuple[Scope, ...]:
    """Each once, and none that lies in another."""
    if Scope() in scopes:
        return (Scope(),)
    schemas = {scope.schema for scope in scopes if scope.table is None}
    kept = [scope for scope in scopes if scope.table is None or scope.schema not in schemas]
    return tuple(dict.fromkeys(kept))
