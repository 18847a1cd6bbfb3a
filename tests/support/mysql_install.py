"""A MySQL server's programs: those that BINLAKE_MYSQLD points at, or MySQL 9.7 installed here.

Installing needs Debian's apt and dpkg-deb, and no root: the packages of the distribution's "sid"
suite are downloaded with apt folders of our own, and unpacked, with the C library that they are
linked with, into `.cache/mysql` of the repository. About 65 MB to download, once.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "mysql"
PACKAGES = ("mysql-server-core", "mysql-client-core")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ATTEMPTS = 3
PAUSE_SECONDS = 5

APT_CONF = """\
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{apt}/etc";
Dir::State::lists "{apt}/lists";
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "{user}";
"""
SOURCES = """\
Types: deb
URIs: {uri}
Suites: sid
Components: main
Signed-By: {keyring}
"""


class UnavailableError(Exception):
    """There is no MySQL server here and none can be installed; the message says why."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the programs are. `loader` starts programs that need the C library they came with."""

    mysqld: Path
    loader: tuple[str, ...] = ()

    @property
    def base(self) -> Path:
        """mysqld's `--basedir`: the folder with `bin` or `sbin`, `lib` and `share`."""
        return self.mysqld.parent.parent

    def command(self, name: str) -> list[str]:
        """The beginning of a command line that starts the program `name`."""
        if name == "mysqld":
            return [*self.loader, str(self.mysqld)]
        for folder in (self.mysqld.parent, self.base / "bin"):
            if (folder / name).exists():
                return [*self.loader, str(folder / name)]
        on_path = shutil.which(name)
        if on_path is None:
            raise UnavailableError(f"{name} is neither beside {self.mysqld} nor on PATH")
        return [on_path]


def why_unavailable() -> str | None:
    """None if there is a server, installed now if need be; else the reason."""
    try:
        installation()
    except UnavailableError as error:
        return f"no MySQL server: {error}; BINLAKE_MYSQLD can point at a mysqld"
    return None


@lru_cache(maxsize=1)
def installation() -> Installation:
    """The programs to use. Raises UnavailableError."""
    if given := os.environ.get("BINLAKE_MYSQLD"):
        mysqld = Path(given).resolve()
        if not os.access(mysqld, os.X_OK):
            raise UnavailableError(f"BINLAKE_MYSQLD={given} is no program")
        return Installation(mysqld)
    root = CACHE / "root"
    with lock("install"):
        if not root.is_dir():
            _install(root)
    loader = next(root.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*"))
    return Installation(
        root / "usr/sbin/mysqld", (str(loader), "--library-path", str(loader.parent))
    )


@contextmanager
def lock(name: str) -> Iterator[None]:
    """One process at a time; the others wait, and then find what it made."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(root: Path) -> None:
    mirror = _debian_mirror()
    with tempfile.TemporaryDirectory(prefix="install.", dir=CACHE) as scratch:
        unpacked = Path(scratch) / "root"
        unpacked.mkdir()
        for package in _download(Path(scratch) / "apt", mirror):
            _run("dpkg-deb", "-x", str(package), str(unpacked))
        unpacked.rename(root)


def _debian_mirror() -> str:
    """The mirror that this machine's apt uses already."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise UnavailableError(f"{program} is missing, and MySQL is installed with Debian's")
    if not KEYRING.exists():
        raise UnavailableError(f"{KEYRING} is missing: this is not Debian")
    told = _run(
        *("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
    ).split()
    mirrors = [uri for uri in told if "security" not in uri]
    if not mirrors:
        raise UnavailableError("apt knows no mirror of Debian")
    return mirrors[0]


def _download(apt: Path, mirror: str) -> list[Path]:
    """The packages and everything they depend on, the C library included."""
    for folder in ("lists/partial", "cache/archives/partial", "etc"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "etc/sid.sources").write_text(SOURCES.format(uri=mirror, keyring=KEYRING))
    user = "root" if os.geteuid() == 0 else ""
    (apt / "apt.conf").write_text(APT_CONF.format(apt=apt, user=user))
    environment = {**os.environ, "APT_CONFIG": str(apt / "apt.conf")}
    install = ("apt-get", "-q", "install", "-y", "--download-only", *PACKAGES)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _run("apt-get", "-q", "update", environment=environment)
            _run(*install, environment=environment)
            break
        except UnavailableError:
            if attempt == ATTEMPTS:
                raise
            time.sleep(PAUSE_SECONDS * attempt)
    return sorted((apt / "cache/archives").glob("*.deb"))


def _run(*command: str, environment: dict[str, str] | None = None) -> str:
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if told.returncode != 0:
        lines = (told.stderr or told.stdout).strip().splitlines() or ["no message"]
        raise UnavailableError(f"{' '.join(command[:3])} failed: {lines[-1]}")
    return told.stdout
