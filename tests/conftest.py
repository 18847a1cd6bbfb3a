"""Fixtures and rules shared by all tests.

A test that needs something this machine lacks is skipped with the reason. Under CI=true such a skip
is a failure, so that nothing silently stays untested; only tests marked `beside`, which need files
outside the repository, may be skipped.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.servers.mariadb import MariaDBFactory, MariaDBServer, NewestMariaDBServer
    from tests.support.servers.mysql import MySQLFactory, MySQLServer

REPOSITORY = Path(__file__).parent.parent
os.environ.setdefault("BINLAKE_CACHE", str(REPOSITORY / ".cache" / "binlake"))

MYSQL_FIXTURES = {"mysql", "mysql_factory"}
MARIADB_FIXTURES = {"mariadb", "mariadb_factory"}
NEWEST_MARIADB_FIXTURES = {"newest_mariadb"}

MEMORY = Path("/dev/shm")
"""An in-memory file system: ALTER TABLE runs two to seven times as fast there."""
ROOM = 8 << 30
"""Free bytes required to use `MEMORY`: the whole suite uses some 2 GB at a time."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Put temporary folders in memory if enough is free and `--basetemp` is not given; let
    hypothesis's examples take any time."""
    if config.option.basetemp is None and MEMORY.is_dir():
        for left in MEMORY.glob("binlake-tests.*"):
            if not Path("/proc", left.suffix[1:]).exists():
                shutil.rmtree(left, ignore_errors=True)
        if shutil.disk_usage(MEMORY).free > ROOM and _available() > 2 * ROOM:
            config.option.basetemp = str(MEMORY / f"binlake-tests.{os.getpid()}")
    from hypothesis import settings

    # The first example of a test may compile or load kernels, and machines are shared.
    settings.register_profile("no deadline", settings(), deadline=None)
    settings.load_profile("no deadline")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove the in-memory folders, unless a test failed; then the next run removes them."""
    folder = session.config.option.basetemp
    ours = folder is not None and Path(folder).name == f"binlake-tests.{os.getpid()}"
    if ours and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(folder, ignore_errors=True)


def _available() -> int:
    """Return the bytes of memory that are available."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    allowed = hasattr(report, "wasxfail") or item.get_closest_marker("beside")
    if report.skipped and not allowed and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI refuses: {report.longrepr}"
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Let one process of `--dist loadfile` never start Spark."""
    from tests.support.spark.spark_processes import files_by_spark

    return files_by_spark(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Leave the collected tests out of garbage collections: looking at 10,000 takes 0.4 s."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Install each server once, before the first test, if any selected test needs it."""
    if config.option.collectonly:
        return
    from tests.support.programs import mariadb_install, mysql_install

    servers: list[tuple[set[str], Callable[[], str | None]]] = [
        (MYSQL_FIXTURES, mysql_install.why_unavailable),
        (MARIADB_FIXTURES, mariadb_install.why_unavailable),
        (NEWEST_MARIADB_FIXTURES, mariadb_install.why_newest_unavailable),
    ]
    for fixtures, why_unavailable in servers:
        needy = [item for item in items if fixtures & _fixtures_of(item)]
        if needy and (reason := why_unavailable()):
            for item in needy:
                item.add_marker(pytest.mark.skipif(True, reason=reason))


def _fixtures_of(item: pytest.Item) -> set[str]:
    """Return the fixtures that a test requests, as arguments or by name in its parameters."""
    names = set(getattr(item, "fixturenames", ()))
    if call := getattr(item, "callspec", None):
        names |= {value for value in call.params.values() if isinstance(value, str)}
    return names


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return one Spark session with Delta for the whole run, on two cores."""
    from pipeline.settings import Settings
    from pipeline.spark.session import JAVA_OPTIONS, QUICK, session
    from tests.support.spark.cheap_spark import LOCAL_FILES

    conf = {
        "spark.sql.shuffle.partitions": "2",
        # By default, tables of catalogs are in the working folder, which is the repository.
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        # The tests run many queries over a few rows each, where code generation costs more than it
        # saves. Tests of the command line keep the settings that users have.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # No process of the suite runs for long enough for the optimizing compiler to pay.
        JAVA_OPTIONS: QUICK,
        # By default, each broadcast allocates 4 MB, and each sort and hash table 32 MB: half of the
        # 55 GB that one process of the suite allocated in 90 seconds.
        "spark.broadcast.blockSize": "64k",
        "spark.buffer.pageSize": "1m",
        # Tests do not share tables, so cached Delta logs are of no use.
        "spark.databricks.delta.delta.log.cacheSize": "32",
        # By default, Delta's VACUUM lists the files of any table in 10,000 tasks.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        **LOCAL_FILES,
    }
    options = {"master": "local[2]", "conf": conf}
    started = session(Settings.load(None, spark=options), "binlake tests", connector=True)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def mysql_factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MySQLFactory]:
    """Return a factory of servers with options of their own: `mysql_factory("--gtid-mode=OFF", …)`.

    The servers stop at the end of the module: keeping those of a whole run would exhaust memory.
    """
    from tests.support.servers.mysql import MySQLFactory

    with MySQLFactory(tmp_path_factory.mktemp("mysql")) as factory:
        yield factory


@pytest.fixture(scope="session")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MySQLServer]:
    """Return one server for the whole run: GTIDs, checksums, FULL metadata, full row images."""
    from tests.support.servers.mysql import MySQLFactory

    with MySQLFactory(tmp_path_factory.mktemp("mysql")) as factory:
        yield factory()


@pytest.fixture(scope="module")
def mariadb_factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDBFactory]:
    """Return a factory of MariaDB servers with options of their own, stopped after the module."""
    from tests.support.servers.mariadb import MariaDBFactory

    with MariaDBFactory(tmp_path_factory.mktemp("mariadb")) as factory:
        yield factory


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDBServer]:
    """Return one MariaDB 10.11 for the whole run: checksums, FULL metadata, full row images."""
    from tests.support.servers.mariadb import MariaDBFactory

    with MariaDBFactory(tmp_path_factory.mktemp("mariadb")) as factory:
        yield factory()


@pytest.fixture(scope="session")
def newest_mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewestMariaDBServer]:
    """Return one server of the newest MariaDB release for the whole run."""
    from tests.support.servers.mariadb import NewestMariaDBServer

    with NewestMariaDBServer(tmp_path_factory.mktemp("newest_mariadb") / "server") as server:
        yield server
