"""The result of a check: the server's value, a verdict, and the change that would improve it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pipeline.settings import Settings
from pipeline.source.check.facts import ServerFacts

Verdict = Literal["ok", "advice", "problem"]
VERDICTS: tuple[Verdict, ...] = ("ok", "advice", "problem")
"""The verdicts from best to worst, as they are printed.

Advice: replication works, but another value would be better. Problem: it does not."""


@dataclass(frozen=True, slots=True)
class RemedySteps:
    """The steps of a remedy, in order.

    `statements`: SQL without a semicolon, effective at once; `option_file`: lines for the [mysqld]
    section of the server's option file, which keep the change after a restart or, with `restart`,
    need one to take effect; `conf`: lines of Binlake's own settings.
    """

    statements: tuple[str, ...] = ()
    option_file: tuple[str, ...] = ()
    restart: bool = False
    conf: tuple[str, ...] = ()


NOTHING = RemedySteps()


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check: its name, the value found (`has`), the verdict and a sentence (`why`).

    `tables` are the names of the tables concerned, `change` the remedy.
    """

    check: str
    has: str
    verdict: Verdict
    why: str
    change: RemedySteps = NOTHING
    tables: tuple[str, ...] = ()


Check = Callable[[ServerFacts, Settings], Iterable[Finding]]
"""A check; it yields no finding if the server's version lacks what it checks."""


def set_variable(facts: ServerFacts, name: str, value: str) -> RemedySteps:
    """Return the change that sets a variable at run time and for later restarts.

    MySQL 8.0 and newer have SET PERSIST; other servers need a line in the option file too.
    """
    if facts.version.since(mysql=(8, 0), mariadb=None):
        return RemedySteps((f"SET PERSIST {name} = {value}",))
    return RemedySteps((f"SET GLOBAL {name} = {value}",), (f"{name} = {value}",))


def set_at_start(*lines: str) -> RemedySteps:
    """Return a change to the option file that takes effect after a restart."""
    return RemedySteps(option_file=lines, restart=True)
