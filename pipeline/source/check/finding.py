"""One thing that was looked at: what the server has, whether that is fit, and what to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pipeline.settings import Settings
from pipeline.source.check.facts import ServerFacts

Verdict = Literal["fit", "advice", "unfit"]
VERDICTS: tuple[Verdict, ...] = ("fit", "advice", "unfit")
"""From good to bad. Advice: Binlake copes, but something else is better."""


@dataclass(frozen=True, slots=True)
class Change:
    """What to do about it, in the order in which it is done.

    `statements`: SQL, without a semicolon, that counts at once; `option_file`: lines of the
    section [mysqld] of the server's option file, so that it also counts after a restart, or, with
    `restart`, that count from a restart on; `conf`: lines of Binlake's own settings.
    """

    statements: tuple[str, ...] = ()
    option_file: tuple[str, ...] = ()
    restart: bool = False
    conf: tuple[str, ...] = ()


NOTHING = Change()


@dataclass(frozen=True, slots=True)
class Finding:
    """`check` is what was looked at, `has` what was found, `why` a sentence; `tables` by name."""

    check: str
    has: str
    verdict: Verdict
    why: str
    change: Change = NOTHING
    tables: tuple[str, ...] = ()

    def to_values(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


Check = Callable[[ServerFacts, Settings], Iterable[Finding]]
"""Looks at one thing; finds nothing where the server's version does not have it."""


def set_variable(facts: ServerFacts, name: str, value: str) -> Change:
    """How a variable is set for good at run time.

    MySQL 8.0 and newer keep what SET PERSIST says; others need it in the option file too.
    """
    if facts.version.since(mysql=(8, 0), mariadb=None):
        return Change((f"SET PERSIST {name} = {value}",))
    return Change((f"SET GLOBAL {name} = {value}",), (f"{name} = {value}",))


def set_at_start(*lines: str) -> Change:
    """What only counts from a restart on."""
    return Change(option_file=lines, restart=True)
