"""Checks of the user's privileges: to read the log as a replica, to seed, to see the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.settings import Settings
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import Change, Finding, Verdict
from pipeline.source.check.lacks import Missing, RequiredScopes
from pipeline.source.check.privileges import Scope


@dataclass(frozen=True, slots=True)
class Need:
    """Check for a required privilege, global or `on_tables`; any of `enough` also satisfies it.

    `mariadb` is its name on MariaDB since 10.5.2.
    """

    privilege: str
    why: str
    otherwise: Verdict = "unfit"
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
            yield Finding(check, has, "fit", self.why)

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
        return Finding(check, has, self.otherwise, why, Change(statements))


NEEDS = (
    Need("REPLICATION SLAVE", "Capture reads the server's log as a replica does."),
    Need(
        "REPLICATION CLIENT",
        "Capture and seed query the log's position, and this check the log's filter.",
        mariadb="BINLOG MONITOR",
    ),
    Need(
        "RELOAD",
        "A seed is a consistent snapshot, for which FLUSH TABLES WITH READ LOCK locks all tables.",
        enough=frozenset({"FLUSH_TABLES"}),
    ),
    Need(
        "SELECT",
        "A seed reads the tables that conf includes, and this check only sees tables with SELECT.",
        on_tables=True,
    ),
    Need(
        "SHOW VIEW",
        "mysqldump needs it to dump the definitions of schemas with views.",
        otherwise="advice",
        on_tables=True,
    ),
)


def _account(user: str) -> str:
    """Quote CURRENT_USER()'s `name@host` for GRANT; the name may contain an @."""
    return "@".join("'" + part.replace("'", "''") + "'" for part in user.rsplit("@", 1))
