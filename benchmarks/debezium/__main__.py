"""Compare Binlake with Debezium, and write the result to docs/contributing/benchmarks.md.

With --loads, the result is only printed. Exit code 1 if a count or a gold table is wrong; a missed
goal is only reported.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from benchmarks.debezium.capture import VERSION, capture
from benchmarks.debezium.document import MARKS, block
from benchmarks.debezium.loads import LOADS
from benchmarks.debezium.operations import logged
from benchmarks.debezium.ours import apply
from benchmarks.debezium.results import Raced, wrong
from benchmarks.debezium.served import served
from benchmarks.end_to_end import HEAP, MASTER, differing
from benchmarks.marked import DOCUMENT
from benchmarks.peers.counts import ProgramError
from benchmarks.peers.machine import load, machine
from benchmarks.third_party import CannotBuildError
from benchmarks.workload import Recording
from decoder.stream.precompile import warm
from tests.support.servers.mysql import MySQLServer

ROUNDS = 3
CONDITIONS = """\
{machine}; Java {java} with a heap of {heap} for each; Debezium {version};
Spark on {master}; load {before} before and {after} after. Rounds: {rounds}, in each of which
both ran once in turn, in new processes, with the log in the page cache. Debezium is timed from its
first batch to the end of its last one, Binlake without the start of Spark. Seconds are medians over
the rounds, and the last column is the median of the rounds' ratios.
"""


def main() -> int:
    """Run the benchmark and report; return 1 if a result is wrong."""
    arguments = parse_arguments()
    screen = Console()
    warm()
    before = load()
    try:
        measured = {
            name: race(name, LOADS[name].record(), arguments.rounds, screen.print)
            for name in arguments.loads
        }
    except (CannotBuildError, ProgramError) as error:
        screen.print(f"The benchmark cannot run: {error}")
        return 1
    conditions = CONDITIONS.format(
        machine=machine(),
        java=next(iter(measured.values())).captured[0].java,
        heap=HEAP,
        version=VERSION,
        master=MASTER,
        before=before,
        after=load(),
        rounds=arguments.rounds,
    )
    text = block(measured, conditions)
    screen.print(Markdown(text))
    if arguments.loads == list(LOADS):
        DOCUMENT.write_text(MARKS.replaced(DOCUMENT.read_text(), text))
    for line in wrong(measured):
        screen.print(f"WRONG: {line}")
    return 1 if wrong(measured) else 0


def parse_arguments() -> argparse.Namespace:
    """Parse the number of rounds and the loads; by default all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.debezium", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--loads", nargs="*", choices=LOADS, default=list(LOADS), metavar="NAME")
    return parser.parse_args()


def race(name: str, recording: Recording, rounds: int, progress: Callable[[str], None]) -> Raced:
    """Run both programs on one load, in rounds. Raises ProgramError, CannotBuildError."""
    raced = Raced(recording.size / 1e6, logged(recording.binlogs))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with served(recording, folder / "server") as server:
            for number in range(1, rounds + 1):
                run_round(name, recording, server, raced, folder / "round")
                shutil.rmtree(folder / "round")  # its lake contains another copy of the log
                theirs = f"Debezium {raced.captured[-1].seconds:.1f} s"
                ours = f"Binlake {raced.applied[-1].seconds:.1f} s"
                progress(f"{name}, round {number}: {theirs}, {ours}")
    return raced


def run_round(
    name: str, recording: Recording, server: MySQLServer, raced: Raced, folder: Path
) -> None:
    """Run each program once, and add the results to `raced`."""
    folder.mkdir()
    raced.captured.append(capture(server.port, raced.logged, HEAP, folder))
    done = apply(name, server.binlog_folder, folder / "lake")
    raced.applied.append(done)
    raced.differing.append(differing(recording, done.gold))


if __name__ == "__main__":
    sys.exit(main())
