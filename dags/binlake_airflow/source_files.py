"""All sources, one file each, in the folder BINLAKE_SOURCES, by default conf/sources."""

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


def read_sources(*, report_errors: bool = False) -> list[Source]:
    """Return the sources whose files are valid, sorted by name.

    With `report_errors`, each invalid file gets a DAG that fails with the reason, and so does a
    folder without files: raising an error would remove the DAGs of all sources.
    """
    found: dict[str, Source] = {}
    files = _files()
    if report_errors and not files:
        where = folder()
        problem = (
            f"{where}, the folder of the sources ({FOLDER}), does not exist here, cannot be read,"
            f" or has no {' or '.join(ENDINGS)} file"
        )
        unreadable(where, [problem])
    for file in files:
        try:
            source = Source.read(file)
            if other := found.get(source.name):
                raise SourceError(
                    f"{file}: source {source.name} is already defined by {other.file.name}"
                )
        except SourceError as error:
            if report_errors:
                unreadable(file, error.problems)
        else:
            found[source.name] = source
    return [found[name] for name in sorted(found)]


def _files() -> list[Path]:
    """List candidate files, .yml first: of two files of the same source, the .yml one counts."""
    try:
        names = sorted(os.listdir(folder()))
    except OSError:  # missing, or not readable by Airflow's user
        return []
    return [folder() / name for ending in ENDINGS for name in names if name.endswith(ending)]


def make_dags(
    make: Callable[[Source], DAG],
    *,
    where: Callable[[Source], bool] = lambda _: True,
    report_errors: bool = False,
) -> dict[str, DAG]:
    """Return a DAG by its id for each source `where` the predicate holds: a module's globals.

    With `report_errors`, a source whose DAG cannot be made (an argument unknown to the operator,
    an invalid schedule, a missing provider) gets a DAG that fails with the reason. It never affects
    the DAGs of other sources.
    """
    found: dict[str, DAG] = {}
    for source in filter(where, read_sources(report_errors=report_errors)):
        try:
            dag = make(source)
            cast("Any", dag).validate()  # untyped in Airflow
        except Exception as error:
            if report_errors:
                unreadable(source.file, [_reason(source, error)])
        else:
            found[dag.dag_id] = dag
    return found


def _reason(source: Source, error: Exception) -> str:
    """Describe why the DAG cannot be made: the error's first line and the keys of `submit`, not its
    values. An operator's error quotes these from its second line on, and they may be passwords."""
    first = next(iter(str(error).splitlines()), "")
    keys = ", ".join(source.options.submit) or "none"
    return f"{source.file}: {type(error).__name__}: {first} (keys of airflow.submit: {keys})"


def folder() -> Path:
    """Return the folder of the sources' files."""
    return Path(os.environ.get(FOLDER) or DEFAULT)
