"""A local S3 server (moto), and the settings of its clients."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.request import Request, urlopen

import yaml
from moto.server import ThreadedMotoServer
from s3fs import S3FileSystem

from pipeline.spark.java import cache_folder

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIAOFATEST", "AWS_SECRET_ACCESS_KEY": "a-secret-of-a-test"}

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "object-stores.md"


def spark_conf() -> dict[str, str]:
    """Return the Spark settings of the guide, with cached jars and few tasks.

    Ivy does not lock its folders, so parallel test processes use separate ones.
    """
    (block,) = re.findall(r"run with this block -->\n```yaml\n(.+?)```", GUIDE.read_text(), re.S)
    return {
        **cast("dict[str, str]", yaml.safe_load(block)["spark"]["conf"]),
        "spark.jars.ivy": str(cache_folder(os.environ.get("PYTEST_XDIST_WORKER", "ivy"))),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
    }


@dataclass(frozen=True)
class ObjectStore:
    """The server; `environment` holds the variables that its clients need."""

    endpoint: str

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the endpoint and credentials as environment variables."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": self.endpoint}

    @property
    def conf(self) -> dict[str, str]:
        """Return the same as Spark settings, independent of the environment."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": CREDENTIALS["AWS_ACCESS_KEY_ID"],
            "spark.hadoop.fs.s3a.secret.key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        }

    @contextmanager
    def rejecting_all_keys(self) -> Iterator[None]:
        """Reject every request, as a store does that does not know the keys."""
        self._ask_for_keys_after("0")
        try:
            yield
        finally:
            self._ask_for_keys_after("inf")

    def _ask_for_keys_after(self, requests: str) -> None:
        url, plain = f"{self.endpoint}/moto-api/reset-auth", {"Content-Type": "text/plain"}
        urlopen(Request(url, requests.encode(), plain, method="POST")).close()

    @property
    def files(self) -> Any:
        """Return the objects, through a client without a cache."""
        return S3FileSystem(
            key=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            secret=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            endpoint_url=self.endpoint,
            use_listings_cache=False,
        )

    def put(self, path: str, content: bytes) -> None:
        """Put an object, into a bucket created for it."""
        bucket = path.partition("/")[0]
        if not self.files.exists(bucket):
            self.files.mkdir(bucket)
        self.files.pipe_file(path, content)

    def fetch(self, folder: str, into: Path) -> None:
        """Copy a folder, such as Delta tables, to where this process's Spark can read it."""
        self.files.get(f"{folder}/", f"{into}/", recursive=True)

    def put_file(self, file: Path, path: str) -> None:
        """Upload a file."""
        self.put(path, file.read_bytes())


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a server without buckets, until the end of the `with`."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # logs a line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        # Servers in one process share their objects.
        urlopen(Request(f"{endpoint}/moto-api/reset", method="POST")).close()
        S3FileSystem.clear_instance_cache()  # clients created under an earlier environment
        yield ObjectStore(endpoint)
    finally:
        server.stop()
        S3FileSystem.clear_instance_cache()
