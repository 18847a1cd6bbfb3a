"""The command as a task of a job: of Databricks, which takes any exit for a failure.

`binlake-task ingest --conf …` does what `binlake ingest --conf …` does, and returns where that ends
with 0. With 3 (done, with faults or a gap) it returns too, since the next layer goes on with what
there is: a last task, `binlake-task status --check`, fails then.
"""

from __future__ import annotations

import sys

from pipeline.cli import main as command
from pipeline.run import DONE, DONE_WITH_FAULTS


def main() -> None:
    """Run the command; raises SystemExit for what must fail the task."""
    try:
        command()
    except SystemExit as ended:
        passing = (DONE,) if "--check" in sys.argv else (DONE, DONE_WITH_FAULTS)
        if (ended.code or DONE) not in passing:
            raise
