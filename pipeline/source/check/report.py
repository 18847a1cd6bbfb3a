"""The report of `binlake check`: as a table for the terminal, and as a JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.source.check.finding import VERDICTS, Finding, RemedySteps, Verdict

STYLES: Mapping[Verdict, str] = MappingProxyType(
    {"ok": "green", "advice": "yellow", "problem": "red"}
)
WITH_PROBLEMS = 3
"""Exit code if any finding is a problem."""
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
        return WITH_PROBLEMS if self.verdict == "problem" else 0

    def to_json(self) -> str:
        """Return a JSON document."""
        found = [asdict(finding) for finding in self.findings]
        about = {"server": self.server, "address": self.address, "user": self.user}
        document = {**about, "verdict": self.verdict, "findings": found}
        return json.dumps(document, ensure_ascii=False, indent=2)


def show(report: CheckReport, out: Console, *, explain_ok: bool = False) -> None:
    """Print problems and advice with reasons, the names of checks that are ok, then the changes.

    `explain_ok`: print the reasons of checks that are ok, too.
    """
    title = f"{report.server} at {report.address}, as {report.user}: {report.verdict}"
    out.print(escape(title), soft_wrap=True)
    for verdict in reversed(VERDICTS):
        found = [finding for finding in report.findings if finding.verdict == verdict]
        if verdict != "ok" or explain_ok:
            for finding in found:
                has = ": ".join(filter(None, (finding.has, shown_tables(finding.tables))))
                out.print(_row(finding.verdict, f"{finding.check}: {has}", finding.why))
        elif found:
            names = ", ".join(dict.fromkeys(finding.check for finding in found))
            out.print(_row(verdict, names))
    for heading, lines_of in SECTIONS:
        _section(out, heading, [line for f in report.findings for line in lines_of(f.change)])


def _row(verdict: Verdict, *texts: str) -> Table:
    """Return a verdict, and texts that wrap beside it."""
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(width=max(map(len, VERDICTS)), style=STYLES[verdict])
    row.add_column(overflow="fold")
    for label, text in zip((verdict, *[""] * len(texts)), texts, strict=False):
        row.add_row(label, escape(text))
    return row


def shown_tables(names: tuple[str, ...]) -> str:
    """Return the first names of tables, and how many more there are."""
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


SECTIONS: tuple[tuple[str, Callable[[RemedySteps], Iterable[str]]], ...] = (
    ("Run on the server:", lambda change: [f"{each};" for each in change.statements]),
    (
        "Add to its option file, under [mysqld], to keep this after a restart:",
        lambda change: () if change.restart else change.option_file,
    ),
    (
        "Add to its option file, under [mysqld], and restart it:",
        lambda change: change.option_file if change.restart else (),
    ),
    ("Set in Binlake's settings (--conf):", lambda change: change.conf),
)
"""Headings of the changes by place; lines are in the order of the checks."""
