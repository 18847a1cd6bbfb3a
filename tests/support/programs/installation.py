"""Where a server's programs are and how to start them, for MySQL and MariaDB alike."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.programs.debian import UnavailableError, loader, unpacked

CACHE = Path(__file__).parents[3] / ".cache"


@dataclass(frozen=True, slots=True)
class Installation:
    """The location of the programs. `loader` starts programs that need their own C library."""

    mysqld: Path
    loader: tuple[str, ...] = ()

    @property
    def base(self) -> Path:
        """Return mysqld's `--basedir`: the folder with `bin` or `sbin`, `lib` and `share`."""
        return self.mysqld.parent.parent

    @property
    def share(self) -> Path:
        """Return the folder with messages, character sets and the SQL of the system tables."""
        folders = [self.base / "share" / name for name in ("mariadb", "", "mysql")]
        return next((folder for folder in folders if (folder / "english").is_dir()), folders[-1])

    @property
    def plugins(self) -> Path:
        """Return the folder with the server's plugins, in Debian's place or the usual one."""
        debian = self.base / "lib" / "mysql" / "plugin"
        return debian if debian.is_dir() else self.base / "lib" / "plugin"

    def command(self, name: str) -> list[str]:
        """Return the command-line prefix that starts the program `name` (mysqld: the server)."""
        if name == "mysqld":
            return [*self.loader, str(self.mysqld)]
        for folder in (self.mysqld.parent, self.base / "bin"):
            if (folder / name).exists():
                return [*self.loader, str(folder / name)]
        on_path = shutil.which(name)
        if on_path is None:
            raise UnavailableError(f"{name} is neither in the folder of {self.mysqld} nor on PATH")
        return [on_path]


def from_environment(variable: str) -> Installation | None:
    """Return the server that an environment variable names, if it is set. Raises
    UnavailableError.
    """
    given = os.environ.get(variable)
    if not given:
        return None
    mysqld = Path(given).resolve()
    if not os.access(mysqld, os.X_OK):
        raise UnavailableError(f"{variable}={given} is not a program")
    return Installation(mysqld)


def installed(root: Path, suite: str, packages: tuple[str, ...], program: str) -> Installation:
    """Return the server of a Debian suite, with `program`, installed into `root` if necessary."""
    unpacked(root, suite, packages)
    return Installation(root / program, loader(root))


def why_unavailable_from(find: Callable[[], Installation]) -> str | None:
    """Return None if `find` returns an installation, else the reason why there is none."""
    try:
        find()
    except UnavailableError as error:
        return str(error)
    return None
