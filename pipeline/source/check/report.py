"""The report of `binlake check`: as a table for the terminal, and as a JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.source.check.finding import VERDICTS, Finding, Verdict

STYLES: Mapping[Verdict, str] = MappingProxyType(
    {"fit": "green", "advice": "yellow", "unfit": "red"}
)
UNFIT = 3
"""Exit code if any finding is unfit."""
SHOWN_TABLES = 10
"""Table names printed per finding in the terminal; the JSON document lists all."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings; `server` is the server's version, `user` the account that queried it."""

    server: str
    address: str
    user: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings."""
        return max((finding.verdict for finding in self.findings), key=VERDICTS.index)

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return UNFIT if self.verdict == "unfit" else 0

    def to_json(self) -> str:
        """Return a JSON document."""
        found = [finding.to_values() for finding in self.findings]
        about = {"server": self.server, "address": self.address, "user": self.user}
        document = {**about, "verdict": self.verdict, "findings": found}
        return json.dumps(document, ensure_ascii=False, indent=2)


def show(report: CheckReport, out: Console) -> None:
    """Print a row for each finding, then the changes."""
    title = f"{report.server} at {report.address}, as {report.user}: {report.verdict}"
    table = Table(title=escape(title), title_justify="left")
    for heading in ("check", "has", "verdict", "why"):
        table.add_column(heading, overflow="fold")
    for finding in report.findings:
        style = STYLES[finding.verdict]
        verdict = f"[{style}]{finding.verdict}[/{style}]"
        has = ": ".join(filter(None, (finding.has, _tables(finding.tables))))
        table.add_row(escape(finding.check), escape(has), verdict, escape(finding.why))
    out.print(table)
    for heading, lines_of in SECTIONS:
        _section(out, heading, [line for f in report.findings for line in lines_of(f)])


def _tables(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN_TABLES
    shown = ", ".join(names[:SHOWN_TABLES])
    return f"{shown} and {more} more" if more > 0 else shown


def _section(out: Console, heading: str, lines: Iterable[str]) -> None:
    if not (lines := list(lines)):
        return
    out.print(f"\n{heading}", markup=False, highlight=False)
    for line in lines:
        # Unformatted and unwrapped: these lines are copied and pasted.
        out.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def _statements(finding: Finding) -> list[str]:
    return [f"{statement};" for statement in finding.change.statements]


def _lasting(finding: Finding) -> tuple[str, ...]:
    return () if finding.change.restart else finding.change.option_file


def _at_start(finding: Finding) -> tuple[str, ...]:
    return finding.change.option_file if finding.change.restart else ()


def _conf(finding: Finding) -> tuple[str, ...]:
    return finding.change.conf


SECTIONS: tuple[tuple[str, Callable[[Finding], Iterable[str]]], ...] = (
    ("Run on the server:", _statements),
    ("Add to its option file, under [mysqld], to keep this after a restart:", _lasting),
    ("Add to its option file, under [mysqld], and restart it:", _at_start),
    ("Set in Binlake's settings (--conf):", _conf),
)
"""Headings of the changes by place; lines are in the order of the checks."""
