"""A Spark Connect server in a separate process, with Delta and a Hive-style warehouse."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from pipeline.settings import Settings
from pipeline.spark.jars import spark_home
from pipeline.spark.java import java_home
from pipeline.spark.session import configuration
from tests.support.servers.server import free_port

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_PATIENCE = 240.0


class ConnectServer:
    """Started by `with`; clients connect to `url`.

    Its tables are in `folder`: a warehouse and a Hive metastore.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"sc://localhost:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ConnectServer:
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = Settings.load(None, spark={"master": "local[2]"})
        metastore = f"jdbc:derby:;databaseName={self._folder / 'metastore'};create=true"
        conf = {
            **configuration(settings),
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.sql.catalogImplementation": "hive",
            "spark.sql.warehouse.dir": str(self._folder / "warehouse"),
            "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.shuffle.partitions": "2",
        }
        options = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
        with open(self._folder / "server.log", "wb") as log:
            self._process = subprocess.Popen(
                [str(spark_home() / "bin" / "spark-submit"), "--class", _CLASS, *options],
                cwd=self._folder,
                env={
                    **os.environ,
                    "JAVA_HOME": str(java_home()),
                    "SPARK_HOME": str(spark_home()),
                    "PYSPARK_PYTHON": sys.executable,
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait()
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

    def _wait(self) -> None:
        patience = time.monotonic() + _PATIENCE
        while not _listens(self._port):
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > patience:
                logged = (self._folder / "server.log").read_text(errors="replace")[-4000:]
                raise RuntimeError(f"Spark Connect's server failed to start:\n{logged}")
            time.sleep(0.2)

    def _stop(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("localhost", port)) == 0
