"""Archives with a server's programs from Maven's and npm's registries, unpacked in part."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.support.programs.debian import UnavailableError, lock

FETCH_SECONDS = 900
READ_BYTES = 1 << 20


@dataclass(frozen=True)
class RegistryArchive(ABC):
    """A file of a registry: `name` identifies it for the registry's client, `sha256` verifies it.

    `kept` maps what is unpacked, a file's path in the archive or a folder's with a trailing slash,
    to its place below the target folder.
    """

    name: str
    sha256: str
    kept: Mapping[str, str] = field(hash=False)

    def unpacked(self, root: Path) -> Path:
        """Return the folder `root` with the kept files, created once. Raises UnavailableError."""
        with lock(root.with_name("install")):
            if not root.is_dir():
                self._install(root)
        return root

    @abstractmethod
    def _command(self, folder: Path) -> list[str]:
        """Return the command line that downloads the file to `folder`."""

    def _install(self, root: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="install.", dir=root.parent) as scratch:
            unpacked = Path(scratch) / "root"
            for path, content in _members(self._fetched(Path(scratch) / "fetched")):
                if (kept := self._kept_at(path)) is not None:
                    _write(unpacked / kept, content)
            unpacked.rename(root)

    def _fetched(self, folder: Path) -> Path:
        """Return the file, verified."""
        folder.mkdir()
        command = self._command(folder)
        if shutil.which(command[0]) is None:
            raise UnavailableError(f"{command[0]} is missing; it downloads {self.name}")
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=FETCH_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise UnavailableError(
                f"{self.name} was not downloaded within {FETCH_SECONDS} s"
            ) from error
        found = list(folder.iterdir())
        if result.returncode != 0 or len(found) != 1:
            lines = (result.stderr or result.stdout).strip().splitlines() or ["no message"]
            raise UnavailableError(f"{command[0]} did not download {self.name}: {lines[-1]}")
        if (digest := _sha256(found[0])) != self.sha256:
            raise UnavailableError(f"{self.name} has an unexpected SHA-256: {digest}")
        return found[0]

    def _kept_at(self, path: str) -> str | None:
        """Return the target of a file in the archive, or None if it is left out."""
        for beginning, place in self.kept.items():
            if path == beginning or (beginning.endswith("/") and path.startswith(beginning)):
                return place + path.removeprefix(beginning)
        return None


class MavenArchive(RegistryArchive):
    """`name` is `group:artifact:version:type`, with `:classifier` if it has one."""

    def _command(self, folder: Path) -> list[str]:
        # Maven's own copy, as large as the file, is removed with the temporary folder.
        repository = folder.with_name("repository")
        return [
            *("mvn", "--quiet", "--batch-mode", "dependency:copy", f"-Dartifact={self.name}"),
            *(f"-DoutputDirectory={folder}", f"-Dmaven.repo.local={repository}"),
        ]


class NpmArchive(RegistryArchive):
    """`name` is `package@version`. No script of the package is run."""

    def _command(self, folder: Path) -> list[str]:
        return [
            *("npm", "pack", "--ignore-scripts", "--loglevel=error"),
            *(f"--pack-destination={folder}", self.name),
        ]


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the path and content of an archive's files; read each before the next."""
    return _of_zip(archive) if zipfile.is_zipfile(archive) else _of_tar(archive)


def _of_zip(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            if not member.is_dir():
                with opened.open(member) as content:
                    yield member.filename, content


def _of_tar(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as opened:
        for member in opened:
            if (content := opened.extractfile(member)) is not None:
                yield member.name, content


def _write(target: Path, content: IO[bytes]) -> None:
    """Write a file, executable if it is a program: not all archives record that alike."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as sink:
        shutil.copyfileobj(content, sink)
    target.chmod(0o755)


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while read := content.read(READ_BYTES):
            digest.update(read)
    return digest.hexdigest()
