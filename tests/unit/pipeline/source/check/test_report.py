"""The report of a check: a table with lines to copy, and a JSON document."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from pipeline.settings import Settings
from pipeline.source.check.facts import CheckedTable
from pipeline.source.check.report import CheckReport, show
from pipeline.source.check.run import findings
from tests.support.source.made_facts import made_facts


def report(version: str, variables: dict[str, str | None], tables: int = 1) -> CheckReport:
    made = tuple(CheckedTable("shop", f"keyless[{n}]", keyed=tables == 1) for n in range(tables))
    facts = made_facts(version, variables, tables=made)
    return CheckReport("MySQL", "db:3306", facts.user, findings(facts, Settings.load()))


def shown(of: CheckReport, *, explain_ok: bool = False, width: int = 80) -> str:
    out = io.StringIO()
    show(of, Console(file=out, width=width), explain_ok=explain_ok)
    return out.getvalue()


@pytest.mark.parametrize(
    ("variables", "verdict", "exit_code"),
    [
        ({}, "ok", 0),
        ({"binlog_checksum": "NONE"}, "advice", 0),
        ({"binlog_checksum": "NONE", "binlog_format": "MIXED"}, "problem", 3),
    ],
)
def test_the_worst_finding_is_the_verdict(
    variables: dict[str, str | None], verdict: str, exit_code: int
) -> None:
    found = report("9.7.0", variables)
    assert (found.verdict, found.exit_code) == (verdict, exit_code)
    document = json.loads(found.to_json())
    assert (document["verdict"], document["address"]) == (verdict, "db:3306")
    assert {finding["verdict"] for finding in document["findings"]} >= {verdict}


def test_a_server_without_problems_has_nothing_to_run() -> None:
    text = shown(report("9.7.0", {}))
    assert "MySQL at db:3306, as binlake@%: ok" in text
    assert "Run on the server" not in text


def test_problems_come_first_then_advice_and_what_is_ok_is_collapsed() -> None:
    found = report("9.7.0", {"binlog_checksum": "NONE", "binlog_format": "MIXED"})
    lines = shown(found).splitlines()
    findings = lines[1 : lines.index("")]
    verdicts = [line.split()[0] for line in findings if line[:1].strip()]
    assert verdicts == ["problem", "advice", "ok"]
    assert findings[0].startswith("problem  binlog_format: MIXED")
    assert max(map(len, findings)) <= 80
    fit = [finding for finding in found.findings if finding.verdict == "ok"]
    text = " ".join(" ".join(findings).split())
    assert [finding.check for finding in fit if finding.check not in text] == []
    assert [finding.why for finding in fit if finding.why in text] == []


def test_verbose_explains_what_is_ok() -> None:
    found = report("9.7.0", {})
    text = " ".join(shown(found, explain_ok=True).split())
    assert all(" ".join(finding.why.split()) in text for finding in found.findings)


def test_statements_are_shown_to_be_copied() -> None:
    lines = shown(report("9.7.0", {"binlog_format": "MIXED", "log_bin": "OFF"})).splitlines()
    assert "  SET PERSIST binlog_format = ROW;" in lines
    assert "Add to its option file, under [mysqld], and restart it:" in lines
    assert "  log_bin = binlog" in lines


def test_old_servers_get_option_file_lines_too() -> None:
    lines = shown(report("5.7.44-log", {"binlog_format": "MIXED"})).splitlines()
    at = lines.index("Add to its option file, under [mysqld], to keep this after a restart:")
    assert lines[at + 1] == "  binlog_format = ROW"


def test_the_terminal_shows_some_table_names_and_the_document_all() -> None:
    found = report("9.7.0", {}, tables=30)
    assert "and 20 more" in " ".join(shown(found).split())
    (keyless,) = (f for f in json.loads(found.to_json())["findings"] if f["verdict"] == "advice")
    assert len(keyless["tables"]) == 30
