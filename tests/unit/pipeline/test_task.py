"""The command as a task of a job."""

from __future__ import annotations

import sys

import pytest

from pipeline import task


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
    ],
)
def test_a_task_fails_by_what_must_not_go_on(
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
