"""Checks of what the user may do: read the log as a replica, seed, see the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.server.check.facts import ServerFacts
from pipeline.server.check.finding import Change, Finding, Verdict
from pipeline.server.check.privileges import Scope
from pipeline.settings import Settings

EVERYTHING = (Scope(),)


@dataclass(frozen=True, slots=True)
class Need:
    """A privilege, on the server as a whole or `on_tables`; any of `enough` is as good.

    MariaDB calls it `mariadb` from 10.5.2 on.
    """

    privilege: str
    why: str
    otherwise: Verdict = "unfit"
    on_tables: bool = False
    enough: frozenset[str] = frozenset()
    mariadb: str | None = None

    def __call__(self, facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
        """The check."""
        name = self.privilege
        if self.mariadb is not None and facts.version.since(mysql=None, mariadb=(10, 5, 2)):
            name = self.mariadb
        names = self.enough | {self.privilege, name}
        scopes = _scopes(settings.include) if self.on_tables else EVERYTHING
        missing = [scope for scope in scopes if not facts.privileges.has(names, scope)]
        check = f"grant {name}"
        if not missing:
            yield Finding(check, f"{facts.user} has it", "fit", self.why)
            return
        wildcards = facts.privileges.wildcards
        places = [scope.granted(wildcards=wildcards) for scope in missing]
        statements = tuple(f"GRANT {name} ON {p} TO {_account(facts.user)}" for p in places)
        has = f"{facts.user} has it not on {', '.join(places)}"
        yield Finding(check, has, self.otherwise, self.why, Change(statements))


NEEDS = (
    Need("REPLICATION SLAVE", "Capture reads the log from the server as a replica does."),
    Need(
        "REPLICATION CLIENT",
        "Capture and seed ask where the log is, and this check what is left out of it.",
        mariadb="BINLOG MONITOR",
    ),
    Need(
        "RELOAD",
        "A seed is of one moment, for which FLUSH TABLES WITH READ LOCK holds all tables.",
        enough=frozenset({"FLUSH_TABLES"}),
    ),
    Need(
        "SELECT",
        "A seed reads the tables that conf includes, and this check only sees those.",
        on_tables=True,
    ),
    Need(
        "SHOW VIEW",
        "A dump of schemas with views (mysqldump, for definitions) asks for it.",
        otherwise="advice",
        on_tables=True,
    ),
)


def _scopes(include: tuple[str, ...]) -> tuple[Scope, ...]:
    """The smallest that GRANT can say of patterns over `schema.table`."""
    found = [_scope(*pattern.split(".", 1)) for pattern in include] or [Scope()]
    if Scope() in found:
        return EVERYTHING
    schemas = {scope.schema for scope in found if scope.table is None}
    kept = [scope for scope in found if scope.table is None or scope.schema not in schemas]
    return tuple(dict.fromkeys(kept))


def _scope(schema: str, table: str) -> Scope:
    if _is_pattern(schema):
        return Scope()
    return Scope(schema, None if _is_pattern(table) else table)


def _is_pattern(name: str) -> bool:
    return re.search(r"[*?\[]", name) is not None


def _account(user: str) -> str:
    """CURRENT_USER()'s `name@host` as GRANT takes it; the name may have an @ in it."""
    return "@".join("'" + part.replace("'", "''") + "'" for part in user.rsplit("@", 1))
