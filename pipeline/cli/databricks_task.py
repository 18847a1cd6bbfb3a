"""The command as a task of a job: of Databricks, which takes any exit for a failure.

`binlake-task ingest --conf …` does what `binlake ingest --conf …` does, and returns where that ends
with 0. With 3 (done, with faults or a gap) a layer returns too, since the next one goes on with
what there is: a last task, `binlake-task status --check`, fails then. So do `seed`, with tables
that could not be read, and `verify`, with a difference: nothing behind them would tell.

A job's parameters become options that always have a value: `--full-refresh=true` is the option,
`--full-refresh=false` and `--until=` are none.
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
_TELLING = frozenset({"seed", "status", "verify"})
"""Commands whose faults fail the task."""


def main() -> None:
    """Run the command; raises SystemExit for what must fail the task."""
    sys.argv[1:] = arguments(sys.argv[1:])
    try:
        command()
    except SystemExit as ended:
        passing = (DONE,) if _TELLING & {*sys.argv[1:2]} else (DONE, DONE_WITH_FAULTS)
        if (ended.code or DONE) not in passing:
            raise


def arguments(given: Iterable[str]) -> list[str]:
    """The command line that a job's parameters come to."""
    return [said for one in given for said in _PARAMETERS.get(one.lower(), [one])]
