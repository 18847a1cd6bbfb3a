"""Debian packages, downloaded with apt and unpacked without root, as the source of real servers.

Packages of one suite are downloaded with separate apt folders and unpacked with all their
dependencies, the C library included, so that they run beside the system's.
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
from pathlib import Path

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
Suites: {suite}
Components: main
Signed-By: {keyring}
"""


class UnavailableError(Exception):
    """The server is neither here nor installable; the message states why."""


def unpacked(root: Path, suite: str, packages: tuple[str, ...]) -> Path:
    """Return the folder `root` with these packages, created once. Raises UnavailableError."""
    with lock(root.with_name("install")):
        if not root.is_dir():
            _install(root, suite, packages)
    return root


def loader(root: Path) -> tuple[str, ...]:
    """Return the command-line prefix that runs a program with the C library in `root`."""
    folders = [*root.glob("usr/lib/*-linux-gnu"), *root.glob("lib/*-linux-gnu")]
    program = next(found for folder in folders for found in folder.glob("ld-linux-*.so.*"))
    return (str(program), "--library-path", ":".join(map(str, folders)))


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Allow one process at a time for `path`; the others wait, and then find the result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(root: Path, suite: str, packages: tuple[str, ...]) -> None:
    mirror = _debian_mirror()
    with tempfile.TemporaryDirectory(prefix="install.", dir=root.parent) as scratch:
        unpacked = Path(scratch) / "root"
        unpacked.mkdir()
        for package in _download(Path(scratch) / "apt", mirror, suite, packages):
            _run("dpkg-deb", "-x", str(package), str(unpacked))
        unpacked.rename(root)


def _debian_mirror() -> str:
    """Return the mirror that this machine's apt uses."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise UnavailableError(f"{program} is missing, and servers need it to be installed")
    if not KEYRING.exists():
        raise UnavailableError(f"{KEYRING} is missing: this machine does not run Debian")
    output = _run(
        *("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
    ).split()
    mirrors = [uri for uri in output if "security" not in uri]
    if not mirrors:
        raise UnavailableError("apt has no Debian mirror configured")
    return mirrors[0]


def _download(apt: Path, mirror: str, suite: str, packages: tuple[str, ...]) -> list[Path]:
    """Download the packages and all their dependencies, the C library included."""
    for folder in ("lists/partial", "cache/archives/partial", "etc"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    sources = SOURCES.format(uri=mirror, suite=suite, keyring=KEYRING)
    (apt / "etc/debian.sources").write_text(sources)
    user = "root" if os.geteuid() == 0 else ""
    (apt / "apt.conf").write_text(APT_CONF.format(apt=apt, user=user))
    environment = {**os.environ, "APT_CONFIG": str(apt / "apt.conf")}
    install = ("apt-get", "-q", "install", "-y", "--download-only", *packages)
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
    output = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if output.returncode != 0:
        lines = (output.stderr or output.stdout).strip().splitlines() or ["no message"]
        raise UnavailableError(f"{' '.join(command[:3])} failed: {lines[-1]}")
    return output.stdout
