"""All sources: a file each, in the folder that BINLAKE_SOURCES names, or else conf/sources."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from airflow.sdk import DAG

from binlake_airflow.source import Source, SourceError
from binlake_airflow.unreadable import unreadable

FOLDER = "BINLAKE_SOURCES"
ENDINGS = (".yml", ".yaml")
DEFAULT = Path(__file__).parents[2] / "conf" / "sources"


def read_sources(*, tell: bool = False) -> list[Source]:
    """Those whose files can be used, by name.

    With `tell`, any other file gets a DAG that fails with the reason, and so does a folder without
    one: raising it would take the DAGs of all sources away.
    """
    found: dict[str, Source] = {}
    files = _files()
    if tell and not files:
        where = folder()
        unreadable(where, f"{where}, where sources are ({FOLDER}), has no file to be seen here")
    for file in files:
        try:
            source = Source.read(file)
            if other := found.get(source.name):
                raise SourceError(f"{file}: {other.file.name} is of source {source.name} too")
        except SourceError as error:
            if tell:
                unreadable(file, str(error))
        else:
            found[source.name] = source
    return [found[name] for name in sorted(found)]


def _files() -> list[Path]:
    """Those that may be a source's: one that was put aside under the second ending comes second."""
    try:
        names = sorted(os.listdir(folder()))
    except OSError:  # not there, or closed to Airflow's user
        return []
    return [folder() / name for ending in ENDINGS for name in names if name.endswith(ending)]


def make_dags(
    of: Callable[[Source], DAG],
    *,
    where: Callable[[Source], bool] = lambda _: True,
    tell: bool = False,
) -> dict[str, DAG]:
    """A DAG of each source `where` there is to be one, by its name: what Airflow is to find in a
    module.

    Whatever is wrong with a source's own (arguments that no operator knows, a schedule that is
    none, a provider that is missing) is said by a DAG as well, and takes no other source's away.
    """
    found: dict[str, DAG] = {}
    for source in filter(where, read_sources(tell=tell)):
        try:
            dag = of(source)
            cast("Any", dag).validate()  # which has no types of its own
        except Exception as error:
            if tell:
                unreadable(source.file, _refused(source, error))
        else:
            found[dag.dag_id] = dag
    return found


def _refused(source: Source, error: Exception) -> str:
    """Why there is no DAG, by the names of what was given: an operator quotes its values, which may
    be passwords, from the second line on."""
    first = next(iter(str(error).splitlines()), "")
    given = ", ".join(source.options.submit) or "nothing"
    return f"{source.file}: {type(error).__name__}: {first} (submit has: {given})"


def folder() -> Path:
    """Where the files are."""
    return Path(os.environ.get(FOLDER) or DEFAULT)
