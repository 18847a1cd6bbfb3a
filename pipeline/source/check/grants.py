"""Checks of what the user may do: read the log as a replica, seed, see the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.settings import Settings
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import Change, Finding, Verdict
from pipeline.source.check.lacks import Lacks, Wanted
from pipeline.source.check.privileges import Scope


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
        lacks = self._lacks(facts, settings, names)
        check, has = f"grant {name}", f"{facts.user} has it"
        if lacks.scopes or lacks.blind:
            yield self._lacking(check, lacks, facts, name)
        elif lacks.unsure:
            has += f" on all that is seen of {', '.join(lacks.unsure)}"
            why = f"{self.why} Others that match may be there, which the user does not see."
            yield Finding(check, has, "advice", why)
        else:
            yield Finding(check, has, "fit", self.why)

    def _lacks(self, facts: ServerFacts, settings: Settings, names: frozenset[str]) -> Lacks:
        if self.on_tables:
            return Wanted(facts, settings, names).lacks()
        return Lacks(() if facts.privileges.has(names, Scope()) else (Scope(),))

    def _lacking(self, check: str, lacks: Lacks, facts: ServerFacts, name: str) -> Finding:
        wildcards = facts.privileges.wildcards
        places = [scope.granted(wildcards=wildcards) for scope in lacks.scopes]
        statements = tuple(f"GRANT {name} ON {p} TO {_account(facts.user)}" for p in places)
        why = self.why
        if lacks.blind:
            places += [f"anything seen of {pattern}" for pattern in lacks.blind]
            why += " Grant it on the schemas or tables that match: the user sees none of them."
        has = f"{facts.user} has it not on {', '.join(places)}"
        return Finding(check, has, self.otherwise, why, Change(statements))


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


def _account(user: str) -> str:
    """CURRENT_USER()'s `name@host` as GRANT takes it; the name may have an @ in it."""
    return "@".join("'" + part.replace("'", "''") + "'" for part in user.rsplit("@", 1))
