"""Coverage-guided fuzzing of one target, with kernels run as Python, where coverage can see them.

NUMBA_DISABLE_JIT=1 python -m tests.fuzz.explore TARGET [libFuzzer's options and folders…]

An exception is recorded as a finding, and fuzzing continues: only a hang or a crash ends it.
"""

from __future__ import annotations

import sys
import traceback

import atheris

with atheris.instrument_imports(include=["decoder"]):
    from tests.fuzz.targets import TARGETS, run

from tests.fuzz.findings import place_of, record
from tests.fuzz.mutator import mutate_log


def explore(target: str, options: list[str]) -> None:
    """Fuzz the target; never returns, since libFuzzer ends the process."""

    def one_input(data: bytes) -> None:
        try:
            run(target, data)
        except Exception as error:
            record(target, data, traceback.format_exc(), place_of(error))

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        return mutate_log(data, most, seed, atheris.Mutate)

    mutator = {"custom_mutator": mutate} if TARGETS[target].is_log else {}
    atheris.Setup([target, *options], one_input, **mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    explore(sys.argv[1], sys.argv[2:])
