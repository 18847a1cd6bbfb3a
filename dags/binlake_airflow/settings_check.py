"""Mistakes in a source's file outside of the section `airflow`, as Binlake itself finds them.

They are known only where the tasks run the Binlake that is installed beside Airflow: another one,
on a cluster or in an environment of its own, may be of another release and know other settings.
Nothing else of Binlake is imported here: Airflow reads the DAGs again and again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def mistakes_in(file: Path, *, command: str, connection: str | None) -> Sequence[str]:
    """Return the mistakes in the file, each as a sentence with its line.

    None are returned if the tasks run another Binlake. `command`, `connection`: of the section
    `airflow`. Environment variables may differ in the tasks, so values that depend on them are
    checked only there. No sentence contains a secret value.
    """
    if connection is not None or not _is_of_this_environment(command):
        return ()
    try:
        from pipeline.errors import InvalidSettingsError, SettingsError
        from pipeline.settings import Settings
    except ImportError:
        return ()
    try:
        Settings.require_valid(file)
    except InvalidSettingsError as error:
        return [str(mistake) for mistake in error.mistakes]
    except SettingsError as error:
        return [str(error)]
    return ()


def _is_of_this_environment(command: str) -> bool:
    own = Path(sys.executable).parent
    return (own / command).parent == own and (own / command).is_file()
