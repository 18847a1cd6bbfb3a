"""Runs that die at a commit: a stand-in for SIGKILL, shared by tests and soaks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from pipeline.lake import delta
from pipeline.lake.delta_log import file_commit
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.tables.native import NativeTables


class Killed(BaseException):
    """A stand-in for SIGKILL: the pipeline must not catch it and continue."""


class Killer(Protocol):
    """Called for every commit: `commit` makes it, as the step of `app`, to `table`."""

    def __call__(self, commit: Callable[[], object], app: str, table: str) -> None: ...


def at_commits(patch: pytest.MonkeyPatch, killer: Killer) -> None:
    """Route all commits of the pipeline, by Spark, by delta-rs and its own, through the killer.

    The last two once their files are written; a step that is already done makes no commit.
    """
    by_spark = delta.commit
    by_delta_rs: Callable[..., Any] = NativeTables._write

    def commit(action: Callable[[], object], table: str, step: Step | None = None) -> None:
        killer(partial(by_spark, action, table, step), step.app if step else table, table)

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

    own: Callable[..., bool] = file_commit.commit_files

    def commit_files(opened: Any, folder: str, step: Step, *files: Any, **info: Any) -> bool:
        results: list[bool] = []
        killer(lambda: results.append(own(opened, folder, step, *files, **info)), step.app, folder)
        return results[0]

    patch.setattr("pipeline.gold.local.table.commit_files", commit_files)
    patch.setattr(delta, "commit", commit)
    patch.setattr(NativeTables, "_write", write)


class Executioner:
    """Allows a number of commits, then kills the run before or after the next one.

    With `layer`, only that layer's commits count, including its plans and records in the ledger.
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
    """Kills a run right after each, or each `nth`, of its commits; the next run resumes there.

    `commits`: the tables of the commits that were made, in order. A step that is already done makes
    no commit.
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
