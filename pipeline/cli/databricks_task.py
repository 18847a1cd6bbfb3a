"""The command as a task of a Databricks job, for which any exit is a failure.

`binlake-task ingest --conf …` does what `binlake ingest --conf …` does, and returns if that exits
with 0. A layer that exits with 3 (done, with faults or a gap) also returns, since the next layer
continues with what is complete: a last task, `binlake-task status --check`, fails then. `seed` with
tables that could not be read and `verify` with a difference fail themselves, since no later task
would report it.

A job's parameters become options that always have a value: `--full-refresh=true` is the option,
`--full-refresh=false` and `--until=` are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from pipeline.cli.app import main as command
from pipeline.errors import DONE, DONE_WITH_FAULTS

_PARAMETERS = {
    "--full-refresh=true": ["--full-refresh"],
    "--full-refresh=false": [],
    "--full-refresh=": [],
    "--until=": [],
}
_FAILING = frozenset({"seed", "status", "verify"})
"""Commands whose exit code 3 fails the task."""


def main() -> None:
    """Run the command; raise SystemExit if the task must fail."""
    sys.argv[1:] = arguments(sys.argv[1:])
    try:
        command()
    except SystemExit as ended:
        passing = (DONE,) if _FAILING & {*sys.argv[1:2]} else (DONE, DONE_WITH_FAULTS)
        if (ended.code or DONE) not in passing:
            raise


def arguments(given: Iterable[str]) -> list[str]:
    """Return the command line for a job's parameters."""
    return [word for one in given for word in _PARAMETERS.get(one.lower(), [one])]
