"""A standalone cluster of the installed Spark: a master and workers as processes of their own.

Nothing of this process's Python path reaches them. Their Python has every package that this one
has, but for Binlake: what they know of it, Spark has brought them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from pipeline.jars import delta_jars, spark_home
from pipeline.java import java_home
from tests.support.server import free_port

HOST = "127.0.0.1"
PATIENCE = 120.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"

Found = TypeVar("Found")


class SparkCluster:
    """Started by `with`. `url` is what spark-submit is given; each worker has one core."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._count = workers
        self._ui = free_port()
        self.url = f"spark://{HOST}:{free_port()}"
        self.workers: list[Worker] = []
        self._master: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> SparkCluster:
        self._folder.mkdir(parents=True)
        self.python = _python_without_binlake(self._folder / "venv")
        ports = ("--host", HOST, "--port", self.url.rpartition(":")[2], "--webui-port", self._ui)
        self._master = self._start("master", _MASTER, *map(str, ports))
        try:
            until(self._state, "the master answers")
            for _ in range(self._count):
                self.add_worker()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def add_worker(self) -> None:
        """Start one more, and wait until the master knows it."""
        name = f"worker-{len(self.workers)}"
        folder = self._folder / name
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder))
        ports = ("--host", HOST, "--webui-port", str(free_port()))
        before = self._alive()
        process = self._start(name, _WORKER, *size, *ports, self.url)
        self.workers.append(Worker(folder, process))
        until(lambda: self._alive() > before, f"{name} is there")

    def submit(
        self, program: Path, *arguments: str | Path, conf: Mapping[str, str], wheel: Path, log: Path
    ) -> subprocess.Popen[bytes]:
        """spark-submit a program with a wheel; what it says is in `log`."""
        settings = {
            "spark.pyspark.python": str(self.python),
            "spark.executor.memory": "512m",
            "spark.log.level": "WARN",
            **conf,
        }
        command = [
            str(spark_home() / "bin" / "spark-submit"),
            *("--master", self.url, "--driver-memory", "1g"),
            *("--jars", ",".join(map(str, delta_jars(java_home(), {})))),
            *("--py-files", str(wheel)),
            *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
            *map(str, (program, *arguments)),
        ]
        return self._process(command, log)

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(spark_home() / "bin" / "spark-class"), main, *arguments]
        return self._process(command, self._folder / f"{name}.log")

    def _process(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with log.open("wb") as told:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env={
                    **kept,
                    "JAVA_HOME": str(java_home()),
                    "SPARK_HOME": str(spark_home()),
                    "SPARK_LOCAL_IP": HOST,
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC",
                    "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
                },
                stdout=told,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _state(self) -> Any:
        return _fetched(f"http://{HOST}:{self._ui}/json/")

    def _alive(self) -> int:
        workers = (self._state() or {}).get("workers", ())
        return sum(worker["state"] == "ALIVE" for worker in workers)

    def _stop(self) -> None:
        for worker in self.workers:
            worker.kill()
        if self._master is not None:
            kill(self._master)


class Worker:
    """A worker of the cluster, and the executors that it has started."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self._folder = folder
        self._process = process

    def kill(self) -> None:
        """SIGKILL to it and to its executors, at once."""
        kill(self._process)

    def said(self) -> Iterator[tuple[str, str]]:
        """What its executors wrote, a line at a time, each with its application."""
        for file in sorted(self._folder.glob("*/*/std*")):
            for line in file.read_text(errors="replace").splitlines():
                yield file.parent.parent.name, line


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to a process that was started here and to those that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _python_without_binlake(folder: Path) -> Path:
    """The Python of an environment with this one's packages.

    Its path names their folders. Of what a path file names, Python reads no path files in turn, and
    one of these is all there is of Binlake where it is installed to be edited.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    paths = sysconfig.get_paths()
    (site / "packages.pth").write_text(f"{paths['purelib']}\n{paths['platlib']}\n")
    return folder / "bin" / "python"


def _fetched(url: str) -> Any:
    """What a server of Spark's says in JSON; None where it does not."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def until(
    found: Callable[[], Found | None], what: str, *, patience: float = PATIENCE, pause: float = 0.1
) -> Found:
    """What `found` gives once that is something; TimeoutError where it stays nothing."""
    deadline = time.monotonic() + patience
    while not (answer := found()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not in {patience:.0f} seconds: {what}")
        time.sleep(pause)
    return answer
