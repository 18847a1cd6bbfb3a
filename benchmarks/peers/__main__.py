"""Compare our decoder with others, and write the result to docs/contributing/benchmarks.md.

With --peers, the result is only printed. Exit code 1 if a program fails, or if its counts or its
results differ from ours.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from benchmarks.bulk import bulk
from benchmarks.marked import DOCUMENT
from benchmarks.peers import first_use, folding, stages
from benchmarks.peers.catalog import BULK, MIXED, PEERS
from benchmarks.peers.compare import OURS, UNFOLDED
from benchmarks.peers.document import MARKS, block
from benchmarks.peers.machine import load, machine
from benchmarks.peers.programs import Program, Reporting, output
from benchmarks.peers.results import Measured
from benchmarks.peers.rounds import Entry, Run, one_core, run_rounds
from benchmarks.third_party import CannotBuildError
from benchmarks.workload import Recording, workload
from decoder.stream.precompile import warm

ROUNDS = 5
OUR_PASSES = 3
STARTS = 3
CONDITIONS = """\
{}; load {} before and {} after. In each of {} rounds every decoder ran once in turn, on one core,
with the file in memory. Seconds are medians over the rounds, and "times ours" is the median of the
rounds' ratios.
"""
ALL = [peer.name for peer in PEERS]
_OUR_COMMAND = (sys.executable, "-m", "benchmarks.peers.ours")


def main() -> int:
    """Run the benchmark and report; return 1 if a result is wrong."""
    arguments = parse_arguments()
    screen = Console()
    files = {MIXED: only_file(workload()), BULK: only_file(bulk())}
    programs, unbuilt = build(arguments.peers, screen.print)
    warm()
    before = load()
    with tempfile.TemporaryDirectory() as cache:
        measured = measure(files, programs, unbuilt, arguments.rounds, Path(cache), screen.print)
    text = block(measured, CONDITIONS.format(machine(), before, load(), arguments.rounds))
    screen.print(Markdown(text))
    if arguments.peers == ALL:
        DOCUMENT.write_text(MARKS.replaced(DOCUMENT.read_text(), text))
    for line in measured.wrong:
        screen.print(f"WRONG: {line}")
    return 1 if measured.wrong else 0


def parse_arguments() -> argparse.Namespace:
    """Parse the number of rounds and the peers; by default all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--peers", nargs="*", choices=ALL, default=ALL, metavar="NAME")
    return parser.parse_args()


def only_file(recording: Recording) -> Path:
    """Return the recording's only file: the server had no reason to rotate."""
    (file,) = recording.binlogs
    return file


def build(
    names: list[str], progress: Callable[[str], None]
) -> tuple[dict[str, Program], dict[str, str]]:
    """Build the named peers; return their programs, and by peer the reason why it has none."""
    programs: dict[str, Program] = {}
    unbuilt: dict[str, str] = {}
    for peer in PEERS:
        if peer.name not in names:
            unbuilt[peer.name] = "not selected"
            continue
        progress(f"building {peer.name}")
        try:
            programs[peer.name] = peer.build()
        except CannotBuildError as error:
            unbuilt[peer.name] = str(error)
    return programs, unbuilt


def measure(
    files: dict[str, Path],
    programs: dict[str, Program],
    unbuilt: dict[str, str],
    rounds: int,
    cache: Path,
    progress: Callable[[str], None],
) -> Measured:
    """Run all measurements; `cache` is an empty folder for kernels compiled from scratch."""
    unfolded = folding.without_folding(cache / "unfolded")
    ours: dict[str, Program] = {
        OURS: Reporting(_OUR_COMMAND, OUR_PASSES),
        UNFOLDED: Reporting(_OUR_COMMAND, OUR_PASSES, environment=unfolded),
    }
    runs: dict[str, Run] = {}
    with one_core():
        for name, file in files.items():
            progress(f"{name} file: {file}")
            entries = {key: Entry(program) for key, program in ours.items()}
            entries.update(
                (peer.name, Entry(programs[peer.name], peer.rounds))
                for peer in PEERS
                if peer.name in programs and name not in peer.refuses
            )
            runs[name] = run_rounds(entries, file, rounds, progress)
        progress("stages and the bound, first use")
        profiles = {name: stages.run_stages(file) for name, file in files.items()}
        compile_seconds = first_use.seconds_to_compile(cache / "fresh")
        bytecode = cache / "bytecode"
        starts = [first_use.seconds_to_start(files[MIXED], bytecode) for _ in range(STARTS)]
    progress("two threads, two processes, results without PCLMULQDQ")
    command = [sys.executable, "-m", "benchmarks.peers.workers", str(files[MIXED])]
    return Measured(
        megabytes={name: file.stat().st_size / 1e6 for name, file in files.items()},
        runs=runs,
        stages=profiles,
        two_workers=json.loads(output(command)),
        same_unfolded=folding.same_results(files[MIXED], unfolded),
        compile_seconds=compile_seconds,
        start_seconds=min(starts),
        unbuilt=unbuilt,
    )


if __name__ == "__main__":
    sys.exit(main())
