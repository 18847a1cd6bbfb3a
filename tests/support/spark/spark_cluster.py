"""A standalone cluster of the installed Spark: a master and workers in separate processes.

They do not inherit this process's Python path. Their Python has every package of this one except
Binlake, so that any Binlake they have was shipped by Spark.
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
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from pipeline.spark.jars import connector_jars, delta_jars, spark_home
from pipeline.spark.java import java_home
from tests.support.servers.server import free_port
from tests.support.spark.cheap_spark import JAVA

ROOT = Path(__file__).parents[3]
HOST = "127.0.0.1"
PATIENCE = 120.0
# For each job: on two cores beside other tests, a session with executors takes a minute or two.
JOB_SECONDS = 600.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"

Found = TypeVar("Found")
Job: TypeAlias = subprocess.Popen[bytes]
"""A spark-submit process."""


class SparkCluster:
    """Started by `with`. `url` is for spark-submit; each worker has one core.

    `environment`: the environment variables of the workers' machines.
    """

    def __init__(self, folder: Path, workers: int = 2, **environment: str) -> None:
        self._folder = folder
        self._count = workers
        self._environment = environment
        self._ui = free_port()
        self.url = f"spark://{HOST}:{free_port()}"
        self.workers: list[Worker] = []
        self._master: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> SparkCluster:
        self._folder.mkdir(parents=True)
        self.python = python_without_binlake(self._folder / "venv")
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
        """Start one more worker, and wait until the master has registered it."""
        name = f"worker-{len(self.workers)}"
        folder = self._folder / name
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder))
        ports = ("--host", HOST, "--webui-port", str(free_port()))
        before = self._alive()
        arguments = (*size, *ports, self.url)
        process = self._start(name, _WORKER, *arguments, **self._environment)
        self.workers.append(Worker(folder, process))
        until(lambda: self._alive() > before, f"{name} is there")

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings to submit an application with: the workers' Python, Java's options,
        and memory limits.
        """
        return {
            "spark.pyspark.python": str(self.python),
            "spark.executor.memory": "512m",
            "spark.driver.extraJavaOptions": JAVA,
            "spark.executor.extraJavaOptions": JAVA,
            "spark.log.level": "WARN",
        }

    def submit(
        self,
        program: Path,
        *arguments: str | Path,
        conf: Mapping[str, str],
        wheel: Path,
        log: Path,
        connector: bool = False,
        **environment: str,
    ) -> Job:
        """Submit a program with a wheel by spark-submit; its output is in `log`.

        With `connector`, the jars include MariaDB's; `environment` is the driver's.
        """
        settings = {**self.settings, **conf}
        jars = delta_jars(java_home(), {}) + (connector_jars(java_home(), {}) if connector else [])
        command = [
            str(spark_home() / "bin" / "spark-submit"),
            *("--master", self.url, "--driver-memory", "1g"),
            *("--jars", ",".join(map(str, jars))),
            *("--py-files", str(wheel)),
            *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
            *map(str, (program, *arguments)),
        ]
        return self._process(command, log, **environment)

    def _start(
        self, name: str, main: str, *arguments: str, **environment: str
    ) -> subprocess.Popen[bytes]:
        command = [str(spark_home() / "bin" / "spark-class"), main, *arguments]
        return self._process(command, self._folder / f"{name}.log", **environment)

    def _process(
        self, command: list[str], log: Path, **environment: str
    ) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with log.open("wb") as output:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env={
                    **kept,
                    "JAVA_HOME": str(java_home()),
                    "SPARK_HOME": str(spark_home()),
                    "SPARK_LOCAL_IP": HOST,
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": JAVA,
                    "SPARK_LAUNCHER_OPTS": JAVA,
                    "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
                    **environment,
                },
                stdout=output,
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
    """A worker of the cluster, and the executors it has started."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self._folder = folder
        self._process = process

    def kill(self) -> None:
        """Send SIGKILL to the worker, its executors and their Python processes at once."""
        kill(self._process)

    @property
    def is_alive(self) -> bool:
        """True unless the worker was killed."""
        return self._process.poll() is None

    def writing(self, folder: Path) -> list[Path]:
        """Return files in a folder that its executors' Python processes have open for writing."""
        return [
            path
            for process in _session(self._process.pid)
            for path in _written(process)
            if path.is_relative_to(folder)
        ]

    def stop(self) -> None:
        """Stop the worker and its executors until they are resumed or killed."""
        _signal(self._process.pid, signal.SIGSTOP)
        until(
            lambda: all(map(_is_stopped, _session(self._process.pid))), "the executors stand still"
        )

    def resume(self) -> None:
        """Resume after `stop`."""
        _signal(self._process.pid, signal.SIGCONT)

    def has(self, process: int) -> bool:
        """True if a process is one of its executors, or of their Python processes."""
        return Path("/proc", str(process)) in _session(self._process.pid)

    def files(self, pattern: str) -> set[tuple[str, str]]:
        """Yield the files that applications have shipped to its executors, each with its
        application.
        """
        return {(file.parents[1].name, file.name) for file in self._folder.glob(f"*/*/{pattern}")}

    def log_lines(self) -> Iterator[tuple[str, str]]:
        """Yield the lines that its executors logged, each with its application."""
        for file in sorted(self._folder.glob("*/*/std*")):
            for line in file.read_text(errors="replace").splitlines():
                yield file.parent.parent.name, line


def built_wheel(folder: Path) -> Path:
    """Return Binlake's wheel, as `make wheel` builds it."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*command, folder / "dist"], cwd=ROOT, check=True, capture_output=True)
    (built,) = (folder / "dist").glob("binlake-*.whl")
    return built


def finish(job: Job, log: Path, meanwhile: Callable[[Job], None] = lambda _: None) -> str:
    """Wait until a job has succeeded while `meanwhile` acts on the cluster; return the job's
    output.
    """
    try:
        meanwhile(job)
        code: object = job.wait(timeout=JOB_SECONDS)
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        code = error
    finally:
        kill(job)
    output = log.read_text(errors="replace")
    assert code == 0, f"{log.stem}: {code}\n{output[-4000:]}"
    return output


def kill(process: subprocess.Popen[bytes]) -> None:
    """Send SIGKILL to a process that was started here, and to its children."""
    if process.poll() is None:
        _signal(process.pid, signal.SIGKILL)
        process.wait()


def _signal(leader: int, number: signal.Signals) -> None:
    for process in _session(leader):
        with suppress(ProcessLookupError):
            os.kill(int(process.name), number)


def _session(leader: int) -> list[Path]:
    """Return the processes of a session, from /proc: an executor's Pythons are in their own
    group.
    """
    return [
        process for process in Path("/proc").glob("[0-9]*") if _stat(process)[3:4] == [str(leader)]
    ]


def _stat(process: Path) -> list[str]:
    """Return the fields after a process's name: state, parent, group, session, …

    Empty if the process has ended. Source: proc_pid_stat(5).
    """
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _is_stopped(process: Path) -> bool:
    """True if the process is stopped or has ended."""
    return _stat(process)[:1] in ([], ["T"], ["Z"])


def _written(process: Path) -> Iterator[Path]:
    """Return the files that a process has open for writing. Source: proc_pid_fdinfo(5)."""
    for opened in (process / "fd").glob("*"):
        try:
            output = (process / "fdinfo" / opened.name).read_text()
            if int(output.split("flags:")[1].split()[0], 8) & os.O_ACCMODE != os.O_RDONLY:
                yield opened.readlink()
        except OSError:
            continue  # closed meanwhile


def python_without_binlake(folder: Path) -> Path:
    """Return the Python of an environment with this one's packages, by a path file with their
    folders.

    Python does not follow path files in the folders that a path file names, and an editable install
    of Binlake is nothing but such a file, so Binlake stays excluded.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    paths = sysconfig.get_paths()
    (site / "packages.pth").write_text(f"{paths['purelib']}\n{paths['platlib']}\n")
    return folder / "bin" / "python"


def _fetched(url: str) -> Any:
    """Return a JSON response of a Spark server, or None without one."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def until(
    found: Callable[[], Found | None], what: str, *, patience: float = PATIENCE, pause: float = 0.1
) -> Found:
    """Return the result of `found` once it is not None; raise TimeoutError after `patience`."""
    deadline = time.monotonic() + patience
    while not (answer := found()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patience:.0f} seconds: {what}")
        time.sleep(pause)
    return answer
