"""Runs that die at a commit: the stand-in for SIGKILL that tests and soaks share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from pipeline.lake import delta
from pipeline.lake.delta_log.table import LakeTable, Step
from pipeline.lake.tables.native import NativeTables


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the pipeline may catch it and go on."""


class Killer(Protocol):
    """Sees every commit: `commit` makes it, as the step of `app`, to `table`."""

    def __call__(self, commit: Callable[[], object], app: str, table: str) -> None: ...


def at_commits(patch: pytest.MonkeyPatch, killer: Killer) -> None:
    """Have all commits of the pipeline, by Spark and by delta-rs, pass by the killer.

    delta-rs's do when their files are written; a step that is done already is none.
    """
    by_spark = delta.commit
    by_delta_rs: Callable[..., Any] = NativeTables._write

    def commit(action: Callable[[], object], *, app: str, version: int, table: str = "") -> None:
        made = partial(by_spark, action, app=app, version=version, table=table)
        killer(made, app, table)

    def write(
        tables: NativeTables,
        table: LakeTable,
        opened: Any,
        chosen: Any,
        step: Step | None,
        note: str | None,
    ) -> Any:
        results: list[Any] = []

        def made() -> None:
            results.append(by_delta_rs(tables, table, opened, chosen, step, note))

        killer(made, step.app if step else "", table.reference)
        return results[0]

    patch.setattr(delta, "commit", commit)
    patch.setattr(NativeTables, "_write", write)


class Executioner:
    """Lets a given number of commits through, then kills the run instead of, or after, the next.

    With `layer`, only that layer's commits count, and its plans and records in the ledger.
    `killed_at`: the table of the commit at which the run died.
    """

    def __init__(self, commits: int, *, after: bool, layer: str = "") -> None:
        self.left = commits
        self.after = after
        self.layer = layer
        self.killed_at: str | None = None

    def __call__(self, commit: Callable[[], object], app: str, table: str) -> None:
        if self.left < 0:
            raise Killed
        if self.layer and self.layer not in app.split("/"):
            commit()
            return
        self.left -= 1
        if self.left < 0:
            self.killed_at = table
        if self.left < 0 and not self.after:
            raise Killed
        commit()
        if self.left < 0:
            raise Killed


class AfterEachCommit:
    """Kills a run right after each commit that it makes, or each `nth`: the next one goes on from
    there.

    `commits`: the tables of the commits that were made, in order. A step that is done makes none.
    """

    def __init__(self, nth: int = 1) -> None:
        self.nth = nth
        self.commits: list[str] = []

    def __call__(self, commit: Callable[[], object], app: str, table: str) -> None:
        before = _commits(table)
        commit()
        if _commits(table) > before:
            self.commits.append(table)
            if len(self.commits) % self.nth == 0:
                raise Killed


def _commits(table: str) -> int:
    return len(list(Path(table, "_delta_log").glob("*.json")))
