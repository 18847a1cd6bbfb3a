"""A MySQL server with component_keyring_file, which binlog_encryption needs.

The server reads which keyring to load from `mysqld.my` in its program's folder, and the component
its file from `component_keyring_file.cnf` in the plugin folder. The installed programs are shared,
so the folders of these two files are copied, and the rest is linked.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.programs.installation import Installation

COMPONENT = "component_keyring_file"


def with_keyring(programs: Installation, folder: Path, keyring: Path) -> Installation:
    """Return the programs in `folder`, with a server that keeps its keys in the file `keyring`."""
    mysqld = folder / "sbin" / "mysqld"
    if folder.exists():
        return Installation(mysqld, programs.loader)  # the server was started earlier
    plugins = folder / "lib" / "mysql" / "plugin"
    mysqld.parent.mkdir(parents=True)
    plugins.mkdir(parents=True)
    # Not a link: the server resolves it and looks in the target's folder.
    shutil.copy(programs.mysqld, mysqld)
    (mysqld.parent / "mysqld.my").write_text(json.dumps({"components": f"file://{COMPONENT}"}))
    (component,) = programs.base.glob(f"lib*/**/plugin/{COMPONENT}.so")
    (plugins / component.name).symlink_to(component)
    settings = {"path": str(keyring), "read_only": False}
    (plugins / f"{COMPONENT}.cnf").write_text(json.dumps(settings))
    for name in ("bin", "share"):
        (folder / name).symlink_to(programs.base / name)
    return Installation(mysqld, programs.loader)
