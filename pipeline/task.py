"""The command as a task of a job: of Databricks, which takes any exit for a failure.

`binlake-task ingest --conf …` does what `binlake ingest --conf …` does, and returns where that ends
with 0. With 3 (done, with faults or a gap) it returns too, since the next layer goes on with what
there is: a last task, `binlake-task status --check`, fails then.

A job's parameters are options with values, whatever they are: `--full-refresh=true` is the option,
`--full-refresh=false` and `--until=` are none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from pipeline.cli import main as command
from pipeline.run import DONE, DONE_WITH_FAULTS

_SAID = re.compile(r"(--[\w-]+)=true", re.IGNORECASE)
_NOT_SAID = re.compile(r"--[\w-]+=(false)?", re.IGNORECASE)


def main() -> None:
    """Run the command; raises SystemExit for what must fail the task."""
    sys.argv[1:] = arguments(sys.argv[1:])
    try:
        command()
    except SystemExit as ended:
        passing = (DONE,) if "--check" in sys.argv else (DONE, DONE_WITH_FAULTS)
        if (ended.code or DONE) not in passing:
            raise


def arguments(given: Iterable[str]) -> list[str]:
    """The command line that a job's parameters come to."""
    return [_as_flag(argument) for argument in given if not _NOT_SAID.fullmatch(argument)]


def _as_flag(argument: str) -> str:
    said = _SAID.fullmatch(argument)
    return said[1] if said else argument
