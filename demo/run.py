"""`make demo`: what `binlake run` does with the recorded shop, then a look at the result.

Run: `python -m demo.run [LAKE]`. The same again finds nothing new to do.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console

from demo.show import show_changes, show_figures, show_gold
from pipeline.cli.show import show_problems, show_reports
from pipeline.errors import BinlakeError
from pipeline.observe.log import set_up
from pipeline.observe.progress import for_terminal
from pipeline.run import read_status, run_command
from pipeline.run.commands import exit_code
from pipeline.settings import Settings
from pipeline.spark.session import session

FOLDER = Path(__file__).parent
LAKE = FOLDER.parent / ".cache" / "demo-lake"


def main() -> int:
    """Run all layers, show gold, and give the exit code that `binlake run` would."""
    lake = Path(sys.argv[1]) if len(sys.argv) > 1 else LAKE
    options = {"source": "shop", "binlogs": str(FOLDER / "binlogs"), "lake": str(lake)}
    settings = Settings.load(None, **options)
    screen = Console()
    screen.print("binlake run", *(f"--{key} {value}" for key, value in options.items()), "\n")

    began = time.monotonic()
    spark = session(settings, "binlake demo")
    screen.print(f"Spark {spark.version} is up after {time.monotonic() - began:.1f} s.\n")
    before = {(t.schema, t.table): t.lsn for t in read_status(spark, settings).tables}
    told = set_up(settings.log)
    reports = run_command(spark, settings, for_terminal(), "run")
    show_reports(reports, settings, screen)
    if not told:
        show_problems(reports, Console(stderr=True))

    tables = [t for t in read_status(spark, settings).tables if not t.dropped]
    show_changes(spark, settings.layout, tables, before, screen)
    for table in tables:
        show_gold(spark, table, screen)
    equal = show_figures(spark, tables, FOLDER / "expected.json", screen)
    screen.print(f"The lake is {lake}; `binlake status --lake {lake}` tells where it stands.")
    return exit_code(reports) if equal else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BinlakeError as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
