"""The layers as spark-submit runs them on a cluster: a master, and workers that lack Binlake.

They are given the wheel alone, compile its kernels once for all of them, and one is killed while
silver decodes on it.
"""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from decoder.kernel_cache import cache_folder
from demo.run import FOLDER as DEMO
from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.verify.run import verify
from tests.e2e.conftest import Run
from tests.support.server import free_port
from tests.support.spark_cluster import HOST, SparkCluster, Worker, fetched, until

ROOT = Path(__file__).parents[2]
SEGMENTS = {"target": "128 KiB", "limit": "1 MiB"}
"""Of the few logs enough segments for tasks on both workers."""
SAVED = re.compile(r"\[cache\] data saved to '(.+)'")
LOADED = "[cache] data loaded from"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[SparkCluster]:
    with SparkCluster(folder / "spark") as started:
        yield started


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    """As `make wheel` builds it."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*command, folder / "dist"], cwd=ROOT, check=True, capture_output=True)
    (built,) = (folder / "dist").glob("binlake-*.whl")
    return built


class Jobs:
    """The layers of one lake, submitted one after the other."""

    def __init__(self, cluster: SparkCluster, folder: Path, wheel: Path) -> None:
        self._cluster, self._folder, self._wheel = cluster, folder, wheel
        self.lake = folder / "lake"
        self.cache = folder / "cache"
        self._conf = folder / "binlake.yml"
        self._conf.write_text(yaml.safe_dump({"segments": SEGMENTS}))
        self._ui = f"http://{HOST}:{(port := free_port())}/api/v1/applications"
        self._settings = {
            "spark.ui.port": str(port),
            "spark.executorEnv.BINLAKE_CACHE": str(self.cache),
            # Says each compiled kernel that it saves, and each that it loads.
            "spark.executorEnv.NUMBA_DEBUG_CACHE": "1",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        }

    def run(self, layer: str, meanwhile: Callable[[], None] = lambda: None) -> str:
        """Submit a layer's job and wait for it; what it said."""
        log = self._folder / f"{layer}.log"
        told = ("--source", "shop", "--binlogs", DEMO / "binlogs", "--lake", self.lake)
        job = self._cluster.submit(
            ROOT / "pipeline" / layer / "job.py",
            *(*told, "--conf", self._conf),
            conf=self._settings,
            wheel=self._wheel,
            log=log,
        )
        try:
            meanwhile()
            code = job.wait(timeout=300)
        finally:
            job.kill()
        said = log.read_text(errors="replace")
        assert code == 0, said[-4000:]
        return said

    def compiled(self) -> Path:
        """The folder of compiled kernels, which is called as it is for this very source."""
        return self.cache / cache_folder().name

    def plans(self) -> int:
        """How many plans and records there are in the ledger."""
        log = Path(Lake(str(self.lake)).ledger("batches")) / "_delta_log"
        return len(list(log.glob("*.json")))

    def decoding(self) -> tuple[str, set[str]] | None:
        """The application, and the executors that have a task; None as long as none has."""
        apps = fetched(self._ui) or []
        for app in apps:
            executors = fetched(f"{self._ui}/{app['id']}/executors") or []
            busy = {one["id"] for one in executors if one["activeTasks"]}
            if len(busy) == len(self._cluster.workers):
                return app["id"], busy
        return None


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Whoever finds no mark that kernels are compiled waits here, as behind one who compiles."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def saved(workers: list[Worker]) -> dict[str, Counter[str]]:
    """By application, the compiled kernels that its executors saved: each is one compilation."""
    found: dict[str, Counter[str]] = {}
    for worker in workers:
        for app, line in worker.said():
            of_app = found.setdefault(app, Counter())
            if match := SAVED.search(line):
                of_app[match[1]] += 1
    return dict(sorted(found.items()))


def checksums(spark: SparkSession, source: str, lake: Path) -> dict[str, tuple[int, str]]:
    settings = Settings.load(None, source=source, lake=str(lake))
    found = json.loads(verify(spark, settings).to_json())
    return {f"{t['schema']}.{t['table']}": (t["rows"], t["checksum"]) for t in found["tables"]}


def test_the_layers_on_a_cluster_that_loses_a_worker(
    cluster: SparkCluster, spark: SparkSession, run: Run, folder: Path, wheel: Path
) -> None:
    lacking = subprocess.run(
        [cluster.python, "-c", "import numba, pyspark, pipeline"],
        check=False,
        cwd="/",
        env={},
        capture_output=True,
        text=True,
    )
    assert "No module named 'pipeline'" in lacking.stderr

    jobs = Jobs(cluster, folder, wheel)
    jobs.run("bronze")
    (compilations,) = saved(cluster.workers).values()
    assert set(compilations.values()) == {1}, "each kernel is compiled once for both workers"
    kernels = {path: path.stat().st_ino for path in jobs.compiled().rglob("*.nbc")}
    assert {Path(name) for name in compilations} == kernels.keys()

    def kill_a_worker() -> None:
        before = jobs.plans()
        with held(jobs.compiled()):
            # The survey is over when the plan is there; tasks that decode come to the lock.
            until(lambda: jobs.plans() > before, "silver's plan is committed", pause=0.005)
            (jobs.compiled() / "warm").unlink()
            app, busy = until(jobs.decoding, "both workers decode")
            killed = cluster.workers[0]
            assert killed.executors(app) & busy
            killed.kill()

    said = jobs.run("silver", meanwhile=kill_a_worker)
    assert re.search(r"Lost task \d.*ExecutorLostFailure|Lost executor", said), said[-4000:]
    cluster.add_worker()
    jobs.run("gold")

    bronze, *others = saved(cluster.workers).items()
    assert (bronze[1], len(others)) == (compilations, 2)
    assert not any(found for _, found in others), "later jobs compile nothing"
    loads = Counter(app for one in cluster.workers for app, line in one.said() if LOADED in line)
    assert loads[others[0][0]] > 100
    assert {path: path.stat().st_ino for path in jobs.compiled().rglob("*.nbc")} == kernels

    run(DEMO / "binlogs", folder / "local")
    expected = checksums(spark, "e2e", folder / "local")
    assert checksums(spark, "shop", jobs.lake) == expected
    assert len(expected) == len(json.loads((DEMO / "expected.json").read_text()))
