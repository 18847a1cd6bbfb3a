"""Checks of the user's privileges: to read the log as a replica, to seed, to see the tables.

A privilege on tables is required where the settings' patterns match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pipeline.settings import Settings
from pipeline.source.check.facts import CheckedTable, ServerFacts
from pipeline.source.check.finding import Finding, RemedySteps, Verdict
from pipeline.source.check.granted_privileges import Scope

_WILD = re.compile(r"\[[^\]]+\]|[*?\[]")
_LONG = "\0" * 65
"""Longer than any name, of a character that no name contains: in a grant only `%` matches it."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The scopes and patterns without a sufficient grant.

    `scopes`: to be granted; `blind`: patterns without a visible table that no single scope
    covers; `unsure`: patterns whose visible tables are all granted, but which may match others.
    """

    scopes: tuple[Scope, ...] = ()
    blind: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequiredScopes:
    """The tables that settings include; any privilege of `names` on them is enough."""

    facts: ServerFacts
    settings: Settings
    names: frozenset[str]

    def missing(self) -> Missing:
        """Return what is missing for all patterns together."""
        found = [self._missing(pattern) for pattern in self.settings.include or ("*.*",)]
        return Missing(
            _smallest([scope for one in found for scope in one.scopes]),
            tuple(pattern for one in found for pattern in one.blind),
            tuple(pattern for one in found for pattern in one.unsure),
        )

    def _missing(self, pattern: str) -> Missing:
        schema, table = pattern.split(".", 1)
        if any(fnmatchcase(_filled(pattern, _LONG), out) for out in self.settings.exclude):
            return Missing()
        if not _WILD.search(pattern):
            return Missing(() if self._has(Scope(schema, table)) else (Scope(schema, table),))
        visible = [one for one in self._visible() if fnmatchcase(one.name, pattern)]
        scopes = [*self._revoked(schema, table)]
        scopes += [
            self._scope_to_grant(one, table)
            for one in visible
            if not self._has(Scope(one.schema, one.table))
        ]
        if scopes:
            return Missing(tuple(scopes))
        # A grant that covers the shortest and the longest name covers every match.
        if all(self._has(Scope(_filled(schema, by))) for by in ("", _LONG)):
            return Missing()
        return Missing(unsure=(pattern,)) if visible else _without_visible(pattern)

    def _has(self, scope: Scope) -> bool:
        return self.facts.privileges.has(self.names, scope)

    def _visible(self) -> Iterator[CheckedTable]:
        for one in self.facts.tables:
            if one.kind == "BASE TABLE" and self.settings.wanted(one.schema, one.table):
                yield one

    def _revoked(self, schema: str, table: str) -> Iterator[Scope]:
        """Yield schemas of the pattern that a partial revoke excludes from a global grant."""
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

    def _scope_to_grant(self, one: CheckedTable, table: str) -> Scope:
        """Return the table's schema if all of it is included, else the table."""
        patterns = (out.split(".", 1)[0] for out in self.settings.exclude)
        excluded = any(fnmatchcase(one.schema, pattern) for pattern in patterns)
        return Scope(one.schema, None if table == "*" and not excluded else one.table)


@dataclass(frozen=True, slots=True)
class NeededPrivilege:
    """Check for a required privilege, global or `on_tables`; any of `enough` also satisfies it.

    `mariadb` is its name on MariaDB since 10.5.2.
    """

    privilege: str
    why: str
    otherwise: Verdict = "problem"
    on_tables: bool = False
    enough: frozenset[str] = frozenset()
    mariadb: str | None = None

    def __call__(self, facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
        """Run the check."""
        name = self.privilege
        if self.mariadb is not None and facts.version.since(mysql=None, mariadb=(10, 5, 2)):
            name = self.mariadb
        names = self.enough | {self.privilege, name}
        missing = self._missing(facts, settings, names)
        check, has = f"grant {name}", f"{facts.user} has it"
        if missing.scopes or missing.blind:
            yield self._not_granted(check, missing, facts, name)
        elif missing.unsure:
            has += f" on all visible tables of {', '.join(missing.unsure)}"
            why = f"{self.why} Other tables may match that the user cannot see."
            yield Finding(check, has, "advice", why)
        else:
            yield Finding(check, has, "ok", self.why)

    def _missing(self, facts: ServerFacts, settings: Settings, names: frozenset[str]) -> Missing:
        if self.on_tables:
            return RequiredScopes(facts, settings, names).missing()
        return Missing(() if facts.privileges.has(names, Scope()) else (Scope(),))

    def _not_granted(self, check: str, missing: Missing, facts: ServerFacts, name: str) -> Finding:
        wildcards = facts.privileges.wildcards
        scopes = [scope.granted(wildcards=wildcards) for scope in missing.scopes]
        statements = tuple(f"GRANT {name} ON {on} TO {_account(facts.user)}" for on in scopes)
        why = self.why
        if missing.blind:
            scopes += [f"any visible table of {pattern}" for pattern in missing.blind]
            why += " Grant it on the schemas or tables that match: the user sees none of them."
        has = f"{facts.user} does not have it on {', '.join(scopes)}"
        return Finding(check, has, self.otherwise, why, RemedySteps(statements))


NEEDS = (
    NeededPrivilege("REPLICATION SLAVE", "Capture reads the server's log as a replica does."),
    NeededPrivilege(
        "REPLICATION CLIENT",
        "Capture and seed query the log's position, and this check the log's filter.",
        mariadb="BINLOG MONITOR",
    ),
    NeededPrivilege(
        "RELOAD",
        "Initial snapshots are consistent: FLUSH TABLES WITH READ LOCK briefly locks all tables.",
        enough=frozenset({"FLUSH_TABLES"}),
    ),
    NeededPrivilege(
        "SELECT",
        "Initial snapshots are read from the tables, and this check only sees tables with SELECT.",
        on_tables=True,
    ),
    NeededPrivilege(
        "SHOW VIEW",
        "mysqldump needs it to dump the definitions of schemas with views.",
        otherwise="advice",
        on_tables=True,
    ),
)


def _account(user: str) -> str:
    """Quote CURRENT_USER()'s `name@host` for GRANT; the name may contain an @."""
    return "@".join("'" + part.replace("'", "''") + "'" for part in user.rsplit("@", 1))


def _without_visible(pattern: str) -> Missing:
    """Return what is missing if no match is visible: GRANT can name all tables, or one schema."""
    schema, table = pattern.split(".", 1)
    if pattern == "*.*":
        return Missing((Scope(),))
    if table == "*" and not _WILD.search(schema):
        return Missing((Scope(schema),))
    return Missing(blind=(pattern,))


def _filled(pattern: str, by: str) -> str:
    """Return a match: `by` for each asterisk, NUL for each other wildcard."""
    return _WILD.sub(lambda found: by if found[0] == "*" else "\0", pattern)


def _smallest(scopes: list[Scope]) -> tuple[Scope, ...]:
    """Remove duplicates, and scopes that another one contains."""
    if Scope() in scopes:
        return (Scope(),)
    schemas = {scope.schema for scope in scopes if scope.table is None}
    kept = [scope for scope in scopes if scope.table is None or scope.schema not in schemas]
    return tuple(dict.fromkeys(kept))
