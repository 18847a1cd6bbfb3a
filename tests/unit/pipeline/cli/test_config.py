"""`binlake config`: the settings in effect without secrets, and all mistakes of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.cli import app as cli
from pipeline.settings import Settings
from tests.unit.pipeline.cli.conftest import SECRET
from tests.unit.pipeline.cli.test_app import ended

pytestmark = pytest.mark.usefixtures("as_before")


def test_config_prints_the_effective_settings_as_yaml_without_secrets(
    conf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KEEP", "36h")
    conf.write_text(
        f"""{conf.read_text()}
retention: {{silver: "${{KEEP}}", cuts: 90m}}
segments: {{target: 1000, limit: 1 MiB}}
keys: {{shop.a: [1]}}
include: [shop.*]
drift: full
spark:
  conf: {{fs.s3a.secret.key: 42, a: "$${{x}}", b: "https://me:{SECRET}@host/"}}
"""
    )
    command = ("config", "--conf", str(conf), "--lake", "/elsewhere", "--source", "erp")
    cli.app([*command], standalone_mode=False)
    text = capsys.readouterr().out
    assert SECRET not in text
    assert "  cuts: 90 minutes\n  silver: 36 hours\n  bronze: forever\n" in text
    assert "  target: 1000 B\n  limit: 1 MiB\n  batch: 32 GiB\n" in text
    assert "    fs.s3a.secret.key: '***'\n    a: $${x}\n    b: https://***@host/\n" in text
    cli.app([*command, "--json"], standalone_mode=False)
    document = json.loads(capsys.readouterr().out)
    assert (document["lake"], document["source"], document["drift"]) == (
        "/elsewhere",
        "erp",
        "full",
    )
    assert document["encryption"]["passwords"] == {"log.000001": "***"}
    shown = tmp_path / "shown.yml"
    shown.write_text(text.replace("log.000001: '***'", f"log.000001: '{SECRET}'"))
    again = Settings.load(shown)
    settings = Settings.load(conf, lake="/elsewhere", source="erp")
    assert again.model_copy(update={"spark": settings.spark}) == settings


def test_config_prints_all_mistakes(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    conf.write_text("include: a\nsource: [b]\nlog: xml\n")
    assert ended(monkeypatch, "config", "--conf", str(conf)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line.partition("conf.yml:")[2][:1] for line in shown.err.splitlines()] == [
        " ",
        *("1", "2", "3"),
    ]
    assert ended(monkeypatch, "run", "--conf", str(conf), "--log", "json") == 2
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert [each.partition("conf.yml:")[2][:1] for each in line["mistakes"]] == ["1", "2"]


def test_config_validates_without_printing_the_settings(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "config", "--quiet", "--conf", str(conf)) == 0
    assert capsys.readouterr() == ("", "")
    conf.write_text("include: a\n")
    assert ended(monkeypatch, "config", "--quiet", "--conf", str(conf)) == 2
    assert "include" in capsys.readouterr().err


def test_config_needs_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    cli.app(["config", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["parallel_tables"] == 8
