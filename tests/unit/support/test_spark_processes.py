"""The first of the suite's processes is given no file that needs Spark."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.spark import spark_processes
from tests.support.spark.spark_processes import files_by_spark, needs_spark

FILES = {
    "a.py": "def test(spark: SparkSession): ...",
    "b.py": "def test(): ...",
    "c.py": 'pytestmark = pytest.mark.usefixtures("spark")',
    "d.py": "def test(run: Run): ...",
    "e.py": "import pyspark",
}


class Queue:
    """Stands in for xdist's scheduler: gives a process the first file, or ends it."""

    def __init__(self, config: Any, _log: object) -> None:
        self.numnodes = config.processes
        self.workqueue = OrderedDict.fromkeys(FILES)

    def _assign_work_unit(self, node: Any) -> None:
        node.files.append(self.workqueue.popitem(last=False)[0])

    def _reschedule(self, node: Any) -> None:
        if self.workqueue:
            self._assign_work_unit(node)
        else:
            node.shutdown()


class Process:
    """A process of the suite, with the files that it was given."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.files: list[str] = []
        self.shutting_down = False

    def shutdown(self) -> None:
        self.shutting_down = True


def dealt(monkeypatch: pytest.MonkeyPatch, root: Path, *names: str) -> list[Process]:
    """Deal all files, one to each process in turn, and return the processes."""
    for name, text in FILES.items():
        (root / name).write_text(text)
    monkeypatch.setattr(spark_processes, "LoadFileScheduling", Queue)
    config: Any = SimpleNamespace(rootpath=root, processes=len(names))
    queue = files_by_spark(config, None)
    processes = [Process(name) for name in names]
    while not all(process.shutting_down for process in processes):
        for process in processes:
            if not process.shutting_down:
                queue._reschedule(process)
    return processes


def test_files_that_need_spark_are_recognized(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert [name for name in FILES if needs_spark(tmp_path / name)] == ["a.py", "c.py", "d.py"]


def test_the_first_process_gets_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = dealt(monkeypatch, tmp_path, "gw0", "gw1", "gw2")
    assert first.files == ["b.py", "e.py"]
    assert (second.files, third.files) == (["a.py", "d.py"], ["c.py"])


def test_files_without_spark_come_after_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (process,) = dealt(monkeypatch, tmp_path, "gw1")
    assert process.files == ["a.py", "c.py", "d.py", "b.py", "e.py"]


def test_a_single_process_gets_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (process,) = dealt(monkeypatch, tmp_path, "gw0")
    assert sorted(process.files) == sorted(FILES)
