"""The layers by spark-submit on a cluster: a master, and workers that lack Binlake.

They get the wheel alone, and use the kernels in a cache that they share, or compile them once for
all of them. One worker is killed while silver decodes on it. Others are killed while their tasks
write; no commit refers to the half-written files.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from decoder.kernels.cache import cache_folder
from decoder.stream import warm
from demo.run import FOLDER as DEMO
from pipeline.lake import Lake, delta
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.e2e.conftest import Run
from tests.support.lake.run_layers import run_layers
from tests.support.lake.table_rows import read_table
from tests.support.servers.mysql import MySQLServer
from tests.support.spark.cheap_spark import LOCAL_FILES
from tests.support.spark.no_spark import NEVER_STARTED
from tests.support.spark.spark_cluster import (
    JOB_SECONDS,
    ROOT,
    Job,
    SparkCluster,
    Worker,
    built_wheel,
    finish,
    python_without_binlake,
    until,
)

CONF = {
    "include": ["shop.customers", "shop.orders"],
    "segments": {"target": "128 KiB", "limit": "1 MiB"},
}
SAVED = re.compile(r"\[cache\] data saved to '(.+)'")
LOADED = "[cache] data loaded from"
ROWS, ROW_BYTES = 160, 256 << 10
"""Of each log that is large enough for files with several row groups, of 16 MiB, in each task."""
LARGE = {"include": ["large.*"], "segments": {"target": "1 MiB", "limit": "4 MiB"}}
RUNNING = re.compile(r"Running task \d+\.(\d+) in stage (\d+)\.(\d+)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[SparkCluster]:
    with SparkCluster(folder / "spark") as started:
        yield started


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    return built_wheel(folder)


class Jobs:
    """The layers of one lake, submitted one after the other."""

    def __init__(
        self,
        cluster: SparkCluster,
        folder: Path,
        cache: Path,
        wheel: Path,
        binlogs: Path = DEMO / "binlogs",
        conf: Mapping[str, object] = CONF,
    ) -> None:
        self._cluster, self._folder, self._wheel = cluster, folder, wheel
        self._binlogs = binlogs
        self.lake = folder / "lake"
        self.cache = cache
        self._conf = folder / "binlake.yml"
        self._conf.write_text(yaml.safe_dump(dict(conf)))
        self._settings = {
            "spark.ui.enabled": "false",
            **LOCAL_FILES,
            "spark.executorEnv.BINLAKE_CACHE": str(self.cache),
            # Log each compiled kernel that is saved or loaded.
            "spark.executorEnv.NUMBA_DEBUG_CACHE": "1",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        }

    def run(self, layer: str, meanwhile: Callable[[Job], None] = lambda _: None) -> None:
        """Submit a layer's job, and wait for it while `meanwhile` acts on the cluster."""
        log = self._folder / f"{layer}.log"
        arguments = ("--source", "shop", "--binlogs", self._binlogs, "--lake", self.lake)
        job = self._cluster.submit(
            ROOT / "pipeline" / layer / "job.py",
            *(*arguments, "--conf", self._conf),
            conf=self._settings,
            wheel=self._wheel,
            log=log,
        )
        finish(job, log, meanwhile)

    def compiled(self) -> Path:
        """Return the folder of compiled kernels, whose name depends on this source code."""
        return self.cache / cache_folder().name

    def kernels(self) -> dict[Path, int]:
        """Return the compiled kernels, each with its file's number."""
        return {path: path.stat().st_ino for path in self.compiled().rglob("*.nbc")}

    def plans(self) -> int:
        """Return the number of plans and records in the ledger."""
        return plans(self.lake)


def plans(lake: Path) -> int:
    """Return the same for any lake in a folder."""
    log = Path(Lake(str(lake)).ledger("batches")) / "_delta_log"
    return len(list(log.glob("*.json")))


@contextmanager
def held(file: Path) -> Iterator[Callable[[], list[int]]]:
    """Hold a lock that others wait for meanwhile; yield the processes that do."""
    with file.open("w") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        waits = re.compile(rf"-> FLOCK +ADVISORY +WRITE +(\d+) \S+:{file.stat().st_ino} ")
        yield lambda: list(map(int, waits.findall(Path("/proc/locks").read_text())))


def saved(workers: list[Worker], earlier: Collection[str] = ()) -> dict[str, Counter[str]]:
    """Return by application, except the earlier ones, how often its executors saved each kernel."""
    found: dict[str, Counter[str]] = {}
    for worker in workers:
        for app, line in worker.log_lines():
            if app in earlier:
                continue
            of_app = found.setdefault(app, Counter())
            if match := SAVED.search(line):
                of_app[match[1]] += 1
    return dict(sorted(found.items()))


def stages(worker: Worker, app: str) -> list[tuple[str, bool]]:
    """Yield the stage of each task that its executors began, and whether it was the first
    attempt.
    """
    lines = (line for of_app, line in worker.log_lines() if of_app == app)
    found = (match.groups() for line in lines if (match := RUNNING.search(line)))
    return [(stage, task == try_ == "0") for task, stage, try_ in found]


@dataclass
class Interrupted:
    """Kills the first process found writing a Parquet file into a folder of the lake."""

    cluster: SparkCluster
    folder: Path
    worker: Worker | None = None
    left: bytes = b""
    """The file's partial content."""
    name: str = ""

    def __call__(self, job: Job) -> None:
        """Kill once, and add a worker to the cluster."""
        until(
            lambda: self._killed() or job.poll() is not None,
            f"a worker writes into {self.folder}",
            patience=JOB_SECONDS,
            pause=0.01,
        )
        self.cluster.add_worker()

    def _killed(self) -> bool:
        return any(self._kill(worker) for worker in self.cluster.workers if worker.is_alive)

    def _kill(self, worker: Worker) -> bool:
        if not self._half_written(worker):
            return False
        # While stopped, the process cannot close the file between this check and its death.
        worker.stop()
        found = self._half_written(worker)
        if found:
            self.left, self.name = found[0].read_bytes(), found[0].name
            self.worker = worker
            worker.kill()
        else:
            worker.resume()
        return bool(found)

    def _half_written(self, worker: Worker) -> list[Path]:
        written = worker.writing(self.folder)
        return [file for file in written if file.suffix == ".parquet" and file.stat().st_size]


def require_repeated(cluster: SparkCluster, interrupted: Interrupted) -> None:
    """Check that a file was left incomplete, and that its task ran again elsewhere."""
    assert interrupted.worker is not None
    assert interrupted.left.startswith(b"PAR1")
    assert not interrupted.left.endswith(b"PAR1")
    *_, (app, _) = interrupted.worker.log_lines()
    stage, _ = stages(interrupted.worker, app)[-1]
    others = [worker for worker in cluster.workers if worker is not interrupted.worker]
    assert any((stage, False) in stages(worker, app) for worker in others)


def require_uncommitted(interrupted: Interrupted) -> None:
    """Check that the half-written file still exists, and is not part of its table."""
    assert (interrupted.folder / interrupted.name).read_bytes() == interrupted.left
    added = pa.table(DeltaTable(str(interrupted.folder)).get_add_actions())
    assert interrupted.name not in added.column("path").to_pylist()


def gold(lake: Path, table: str) -> tuple[StructType, pa.Table]:
    """Return the schema and all columns, including those that identify a row's transaction."""
    schema, rows = read_table(Lake(str(lake)).gold("shop", table))
    return schema, rows.sort_by("id")


def test_workers_have_every_package_but_binlake(tmp_path: Path) -> None:
    python = python_without_binlake(tmp_path / "venv")
    command = [python, "-c", "import numba, pyarrow, pyspark, pipeline"]
    done = subprocess.run(command, check=False, cwd="/", env={}, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'pipeline'"


def copy_kernels(cache: Path) -> None:
    """Copy the suite's compiled kernels into another cache."""
    warm()
    unfinished = shutil.ignore_patterns("*.tmp.*")  # of a process that compiles more meanwhile
    shutil.copytree(cache_folder(), cache / cache_folder().name, ignore=unfinished)


@pytest.mark.parametrize(
    "compile_kernels", [False, pytest.param(True, marks=pytest.mark.long)], ids=["cached", "empty"]
)
def test_the_layers_on_a_cluster_that_loses_a_worker(
    cluster: SparkCluster, tmp_path: Path, wheel: Path, compile_kernels: bool
) -> None:
    before = saved(cluster.workers).keys()
    jobs = Jobs(cluster, tmp_path, tmp_path / "cache", wheel)
    if not compile_kernels:
        copy_kernels(jobs.cache)
    copied = jobs.kernels()
    jobs.run("bronze")
    (compilations,) = saved(cluster.workers, before).values()
    kernels = jobs.kernels()
    if compile_kernels:
        assert set(compilations.values()) == {1}, "each kernel is compiled once for both workers"
        # Nothing is known of the process beside the worker, which compiles from the other end.
        assert {Path(name) for name in compilations} < kernels.keys()
    else:
        assert not compilations, "kernels that the cache has are not compiled"
        assert kernels == copied

    lost: list[Worker] = []

    def kill_a_worker(job: Job) -> None:
        """The one that decodes: so little is one task."""
        before = jobs.plans()

        def wait(found: Callable[[], bool], what: str) -> None:
            until(
                lambda: found() or job.poll() is not None, what, patience=JOB_SECONDS, pause=0.005
            )

        with held(jobs.compiled() / "lock") as waiting:
            # The survey has finished once there is a plan. Decoding tasks then find no mark of
            # compiled kernels, and wait as if another process compiled them.
            wait(lambda: jobs.plans() > before, "silver's plan is committed")
            if job.poll() is not None:
                return  # whose log has the reason
            (jobs.compiled() / "warm").unlink()
            wait(lambda: bool(waiting()), "a worker decodes")
            lost.extend(w for w in cluster.workers if any(map(w.has, waiting())))
            for worker in lost:
                worker.kill()

    jobs.run("silver", meanwhile=kill_a_worker)
    assert lost, "the worker that decodes found compiled kernels before it could be killed"
    (killed,) = lost
    (other,) = (worker for worker in cluster.workers if worker.is_alive)
    cluster.add_worker()
    jobs.run("gold")

    of_bronze, *later = saved(cluster.workers, before).items()
    assert (of_bronze[1], len(later)) == (compilations, 2)
    assert not any(found for _, found in later), "later jobs compile nothing"
    assert jobs.kernels() == kernels
    silver = later[0][0]
    assert any(LOADED in line for app, line in other.log_lines() if app == silver)
    interrupted, _ = stages(killed, silver)[-1]
    assert (interrupted, False) in stages(other, silver), "the lost task ran again"

    local = tmp_path / "local"
    paths = {"binlogs": str(DEMO / "binlogs"), "lake": str(local)}
    run_layers(NEVER_STARTED, Settings.load(None, source="shop", **paths, **CONF), QuietProgress())
    for table in ("customers", "orders"):
        expected = gold(local, table)
        assert gold(jobs.lake, table) == expected
        assert len(expected[1]) > 200


def logged(server: MySQLServer) -> None:
    """Return two logs of incompressible rows."""
    server.execute("DROP DATABASE IF EXISTS large; CREATE DATABASE large")
    server.reset_logs()
    server.execute("CREATE TABLE large.files (id INT PRIMARY KEY AUTO_INCREMENT, content LONGBLOB)")
    for _ in range(2):
        with server.connect(database="large") as connection, connection.cursor() as cursor:
            for _ in range(ROWS):
                cursor.execute("INSERT INTO files (content) VALUES (%s)", (os.urandom(ROW_BYTES),))
        server.flush_logs()


@pytest.mark.long
def test_workers_killed_while_writing_cost_only_a_retry(
    cluster: SparkCluster,
    mysql: MySQLServer,
    spark: SparkSession,
    run: Run,
    tmp_path: Path,
    wheel: Path,
) -> None:
    logged(mysql)
    copy_kernels(tmp_path / "cache")
    jobs = Jobs(cluster, tmp_path, tmp_path / "cache", wheel, mysql.binlog_folder, LARGE)
    lake = Lake(str(jobs.lake))
    killed = {
        "bronze": Interrupted(cluster, Path(lake.segments)),
        "silver": Interrupted(cluster, Path(lake.changes("large", "files", 1))),
    }
    for layer, interrupted in killed.items():
        jobs.run(layer, meanwhile=interrupted)
        require_repeated(cluster, interrupted)
        require_uncommitted(interrupted)
    jobs.run("gold")

    local = tmp_path / "local"
    run(mysql.binlog_folder, local, **LARGE)
    assert plans(local) == jobs.plans(), "no batch more"
    for table in (Path(lake.segments), killed["silver"].folder):
        there, here = table, local / table.relative_to(jobs.lake)
        assert delta.read(spark, str(there)).count() == delta.read(spark, str(here)).count()
    found, expected = (
        delta.read(spark, Lake(str(folder)).gold("large", "files")).orderBy("id").toArrow()
        for folder in (jobs.lake, local)
    )
    assert found.equals(expected)
    assert len(found) == 2 * ROWS
    assert not [file for file in Path(lake.staging).rglob("*") if file.is_file()]
