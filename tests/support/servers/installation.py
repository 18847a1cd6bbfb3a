"""Where a server's programs are, and how they are started: MySQL's and MariaDB's alike."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers.debian import UnavailableError, loader, unpacked

CACHE = Path(__file__).parents[3] / ".cache"


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the programs are. `loader` starts programs that need the C library they came with."""

    mysqld: Path
    loader: tuple[str, ...] = ()

    @property
    def base(self) -> Path:
        """mysqld's `--basedir`: the folder with `bin` or `sbin`, `lib` and `share`."""
        return self.mysqld.parent.parent

    @property
    def share(self) -> Path:
        """The folder with the messages, the character sets and the SQL of a server's own tables."""
        folders = [self.base / "share" / name for name in ("mariadb", "", "mysql")]
        return next((folder for folder in folders if (folder / "english").is_dir()), folders[-1])

    @property
    def plugins(self) -> Path:
        """The folder with the server's plugins: where Debian has it, or where others do."""
        debian = self.base / "lib" / "mysql" / "plugin"
        return debian if debian.is_dir() else self.base / "lib" / "plugin"

    def command(self, name: str) -> list[str]:
        """The beginning of a command line that starts the program `name` (mysqld: the server)."""
        if name == "mysqld":
            return [*self.loader, str(self.mysqld)]
        for folder in (self.mysqld.parent, self.base / "bin"):
            if (folder / name).exists():
                return [*self.loader, str(folder / name)]
        on_path = shutil.which(name)
        if on_path is None:
            raise UnavailableError(f"{name} is neither beside {self.mysqld} nor on PATH")
        return [on_path]


def pointed_at(variable: str) -> Installation | None:
    """The server that an environment variable names, if it is set. Raises UnavailableError."""
    given = os.environ.get(variable)
    if not given:
        return None
    mysqld = Path(given).resolve()
    if not os.access(mysqld, os.X_OK):
        raise UnavailableError(f"{variable}={given} is no program")
    return Installation(mysqld)


def installed(root: Path, suite: str, packages: tuple[str, ...], program: str) -> Installation:
    """The server of a suite of Debian's, installed into `root` if need be: `program` in it."""
    unpacked(root, suite, packages)
    return Installation(root / program, loader(root))


def why_not(find: Callable[[], Installation]) -> str | None:
    """None if `find` gives an installation, made now if need be; else the reason."""
    try:
        find()
    except UnavailableError as error:
        return str(error)
    return None
