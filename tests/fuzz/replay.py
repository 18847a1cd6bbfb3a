"""Inputs once more, each under limits of time and memory, in a process of its own kind of kernels.

    python -m tests.fuzz.replay     (the child: paths come on its input, what came of them goes out)

An input is a file `<target>/<name>`. A kernel that never ends, or that leaves its buffers, takes
the child with it: the parent then knows which input did, and goes on behind it with another child.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from decoder.kernels.memory import INTERPRETED
from decoder.stream.precompile import use_every_kernel
from tests.fuzz.corpus import ROOT
from tests.fuzz.targets import TARGETS, run

MODES: dict[str, dict[str, str]] = {
    "compiled": {},
    "interpreted": {"NUMBA_DISABLE_JIT": "1"},
    "checked": {"NUMBA_BOUNDSCHECK": "1"},
}
"""Settings of numba, by name."""
SECONDS = 20
"""Of one input."""
ADDRESS_SPACE = 1 << 30
"""Bytes that an input may reserve: a length of 4 GB that is believed goes beyond it."""
MEMORY = 64 << 20
"""Bytes that an input of any size may use: windows, and blocks of a table's rows."""
MEMORY_PER_BYTE = 256


def replay(paths: Sequence[Path], mode: str) -> dict[Path, str]:
    """What is wrong with these inputs, by path."""
    found: dict[Path, str] = {}
    left = list(paths)
    while left:
        child = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.replay"],
            input="\n".join(map(str, left)),
            env={**os.environ, **MODES[mode]},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        results: list[str | None] = [json.loads(line) for line in child.stdout.splitlines()]
        found |= {path: reason for path, reason in zip(left, results, strict=False) if reason}
        left = left[len(results) :]
        if child.returncode:
            fatal = f"the process ended with {child.returncode}: {child.stderr[-4000:]}"
            if child.returncode == _NOT_READY or not left:
                raise RuntimeError(fatal)
            found[left.pop(0)] = fatal
        elif left:
            raise RuntimeError(f"{len(left)} inputs were not replayed")
    return found


# --- the child ------------------------------------------------------------------------------------

_NOT_READY = 75
"""Its exit code if it fails before the first input."""


def _child(paths: list[Path]) -> None:
    try:
        if not INTERPRETED:
            _load_kernels({path.parent.name for path in paths})
        _limit_address_space()
    except Exception:
        traceback.print_exc()
        raise SystemExit(_NOT_READY) from None
    for path in paths:
        print(json.dumps(_failure(path.parent.name, path.read_bytes())), flush=True)


def _load_kernels(targets: set[str]) -> None:
    """Before time and memory are measured: compiling them takes more of both than any input may."""
    use_every_kernel()
    for target in targets:
        for seed in TARGETS[target].seeds():
            run(target, seed)


def _limit_address_space() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _memory(field: str) -> int:
    """Bytes of memory, as Linux counts them: `VmRSS` now, `VmHWM` at the most since the reset."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) * 1024


def _reset_peak() -> None:
    # Not resource.getrusage: its peak is never reset, and begins with that of the parent.
    Path("/proc/self/clear_refs").write_text("5")


def _failure(target: str, data: bytes) -> str | None:
    """What is wrong with the input; None for nothing."""
    _reset_peak()
    before = _memory("VmRSS")
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        run(target, data)
    except Exception:
        return traceback.format_exc()
    finally:
        faulthandler.cancel_dump_traceback_later()
    used = _memory("VmHWM") - before
    if used > MEMORY + MEMORY_PER_BYTE * len(data):
        return f"{used} bytes of memory for an input of {len(data)}"
    return None


if __name__ == "__main__":
    _child([Path(line) for line in sys.stdin.read().splitlines()])
