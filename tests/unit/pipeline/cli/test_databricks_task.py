"""The command as a task of a Databricks job."""

from __future__ import annotations

import sys

import pytest

from pipeline.cli import databricks_task as task


@pytest.mark.parametrize(
    ("arguments", "code", "fails"),
    [
        (["ingest"], 0, False),
        (["ingest"], 3, False),
        (["ingest"], 1, True),
        (["ingest"], 2, True),
        (["ingest"], None, False),
        (["status", "--check"], 0, False),
        (["status", "--check"], 3, True),
        (["seed", "--table=seed"], 3, True),
        (["verify", "--against=server"], 3, True),
        (["apply", "--source=verify"], 3, False),
    ],
)
def test_a_task_fails_if_the_job_must_not_continue(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int | None, fails: bool
) -> None:
    monkeypatch.setattr(sys, "argv", ["binlake-task", *arguments])
    monkeypatch.setattr(task, "command", lambda: sys.exit(code))
    if not fails:
        task.main()
        return
    with pytest.raises(SystemExit) as ended:
        task.main()
    assert ended.value.code == code


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (["apply", "--conf=shop.yml"], ["apply", "--conf=shop.yml"]),
        (["apply", "--conf", "shop.yml", "--check"], ["apply", "--conf", "shop.yml", "--check"]),
        (["apply", "--full-refresh=true"], ["apply", "--full-refresh"]),
        (["apply", "--full-refresh=False", "--until="], ["apply"]),
        (["decode", "--full-refresh="], ["decode"]),
        (["apply", "--until=false alarm", "true"], ["apply", "--until=false alarm", "true"]),
        (["apply", "--source=true", "--lake="], ["apply", "--source=true", "--lake="]),
    ],
)
def test_a_jobs_parameters_become_options_or_are_left_out(
    given: list[str], options: list[str]
) -> None:
    assert task.arguments(given) == options


def test_the_command_gets_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["binlake-task", "apply", "--full-refresh=true", "--until="])
    seen: list[str] = []
    monkeypatch.setattr(task, "command", lambda: seen.extend(sys.argv))
    task.main()
    assert seen == ["binlake-task", "apply", "--full-refresh"]
