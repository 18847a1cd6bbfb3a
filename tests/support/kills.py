"""Runs that die at a commit: the stand-in for SIGKILL that tests and soaks share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline import delta


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the pipeline may catch it and go on."""


class Executioner:
    """Lets a given number of commits through, then kills the run instead of, or after, the next.

    With `layer`, only that layer's commits count, and its plans and records in the ledger.
    """

    def __init__(self, commits: int, *, after: bool, layer: str = "") -> None:
        self.left = commits
        self.after = after
        self.layer = layer
        self.real = delta.commit

    def __call__(self, action: Callable[[], object], **names: Any) -> None:
        if self.left < 0:
            raise Killed
        if self.layer and self.layer not in names["app"].split("/"):
            self.real(action, **names)
            return
        self.left -= 1
        if self.left < 0 and not self.after:
            raise Killed
        self.real(action, **names)
        if self.left < 0:
            raise Killed


class AfterEachCommit:
    """Kills a run right after each commit that it makes, or each `nth`: the next one goes on from
    there.

    `commits`: the tables of the commits that were made, in order. A step that is done makes none.
    """

    def __init__(self, nth: int = 1) -> None:
        self.real = delta.commit
        self.nth = nth
        self.commits: list[str] = []

    def __call__(self, action: Callable[[], object], **names: Any) -> None:
        before = _commits(names["table"])
        self.real(action, **names)
        if _commits(names["table"]) > before:
            self.commits.append(names["table"])
            if len(self.commits) % self.nth == 0:
                raise Killed


def _commits(table: str) -> int:
    return len(list(Path(table, "_delta_log").glob("*.json")))
