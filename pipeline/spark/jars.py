"""Jars of Delta and of MariaDB's connector, downloaded once by Spark's resolver and then cached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pipeline.errors import MissingRequirementError
from pipeline.spark.java import cache_folder

BUNDLED = (
    "com.fasterxml.jackson.core:jackson-annotations",
    "com.fasterxml.jackson.core:jackson-core",
    "com.fasterxml.jackson.core:jackson-databind",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8",
    "com.google.code.findbugs:jsr305",
    "commons-logging:commons-logging",
    "javax.annotation:javax.annotation-api",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.logging.log4j:log4j-api",
    "org.apache.logging.log4j:log4j-core",
    "org.apache.logging.log4j:log4j-slf4j2-impl",
    "org.apache.parquet:parquet-hadoop",
    "org.locationtech.jts:jts-core",
    "org.roaringbitmap:RoaringBitmap",
    "org.slf4j:slf4j-api",
)
"""Delta's dependencies that Spark already includes: excluding them saves 75 MB, and three quarters
of the time."""

CONNECTOR = "org.mariadb.jdbc:mariadb-java-client:3.5.6"
"""The Maven coordinates of the JDBC driver with which `binlake seed` reads MariaDB and MySQL. Its
dependencies are not needed: they are for logins of cloud providers."""
BESIDE_CONNECTOR = (
    "com.github.waffle:waffle-jna",
    "net.java.dev.jna:jna",
    "net.java.dev.jna:jna-platform",
    "org.slf4j:slf4j-api",
    "org.slf4j:jcl-over-slf4j",
    "com.github.ben-manes.caffeine:caffeine",
)

RESOLVER_SETTINGS = ("spark.jars.ivySettings", "spark.jars.repositories")
"""The user's settings for where jars are downloaded from."""


def delta_package() -> str:
    """Return Delta's Maven coordinates for the installed pyspark and delta-spark."""
    spark = ".".join(version("pyspark").split(".")[:2])
    return f"io.delta:delta-spark_{spark}_2.13:{version('delta-spark')}"


def delta_jars(java_home: Path, conf: Mapping[str, str]) -> list[Path]:
    """Return Delta's jars; the first call on a machine downloads them, which takes some seconds.

    Raises MissingRequirementError with the resolver's message if that fails.
    """
    return _jars(delta_package(), BUNDLED, java_home, conf)


def connector_jars(java_home: Path, conf: Mapping[str, str]) -> list[Path]:
    """Return the jars of MariaDB's connector; see `delta_jars`."""
    return _jars(CONNECTOR, BESIDE_CONNECTOR, java_home, conf)


def _jars(
    package: str, without: Sequence[str], java_home: Path, conf: Mapping[str, str]
) -> list[Path]:
    folder = cache_folder("jars") / package.replace(":", "_")
    if not folder.is_dir():
        _fetch(package, without, folder, java_home, conf)
    return sorted(folder.glob("*.jar"))


def _fetch(
    package: str, without: Sequence[str], folder: Path, java_home: Path, conf: Mapping[str, str]
) -> None:
    """Download to a temporary folder, and rename it: no process sees an incomplete set of jars."""
    print(f"Downloading jars once ({package}) …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="ivy.", dir=folder.parent) as scratch:
        resolved = _resolve(package, without, Path(scratch), java_home, conf)
        fetched = Path(scratch) / "jars"
        if resolved.returncode != 0 or not any(fetched.glob("*.jar")):
            raise MissingRequirementError(
                f"The jars of {package} could not be downloaded: {_problem(resolved)}",
                remedy=_remedy(resolved.stderr),
            )
        try:
            fetched.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process has downloaded the same jars
                raise


def _resolve(
    package: str, without: Sequence[str], ivy: Path, java_home: Path, conf: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run spark-submit with an empty program, only to resolve its packages."""
    program = ivy / "nothing.py"
    program.touch()
    settings = {
        "spark.jars.ivy": str(ivy),
        **{key: conf[key] for key in RESOLVER_SETTINGS if key in conf},
    }
    spark = spark_home()
    command = [
        str(spark / "bin" / "spark-submit"),
        *("--master", "local[1]"),
        *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
        *("--packages", package, "--exclude-packages", ",".join(without)),
        str(program),
    ]
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(spark),
        "PYSPARK_PYTHON": sys.executable,
    }
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def spark_home() -> Path:
    """Return the Spark folder of the installed pyspark.

    Raises MissingRequirementError if there is none, or no bash for the scripts in it.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MissingRequirementError(
            "Spark is not installed (no pyspark).",
            remedy="Run: pip install 'binlake[spark]', or pip install '.[spark]' in a clone.",
        )
    if shutil.which("bash") is None:
        raise MissingRequirementError(
            "Spark cannot start: its scripts need bash, which is not in PATH.",
            remedy="Install bash, or add its folder to PATH.",
        )
    return Path(spec.origin).parent


def _remedy(output: str) -> str:
    if "PKIX" in output or "SSLHandshake" in output:
        return (
            "Java does not trust the certificate of the repository, or of a proxy: set a trust"
            " store that contains it with JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=…, or set"
            " JAVA_HOME to a JDK that uses this machine's."
        )
    return "Check the network, or set spark.jars.ivySettings in spark.conf."


def _problem(resolved: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in resolved.stderr.splitlines()]
    errors = [line for line in lines if "unresolved dependency" in line or "Exception" in line]
    return (errors or lines or ["no reason given"])[0]
