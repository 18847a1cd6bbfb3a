"""Replay inputs under limits of time and memory, in a process for each mode of kernels.

python -m tests.fuzz.replay (the child: reads paths from its input, writes the results)

An input is a file `<target>/<name>`. A kernel that never ends, or that writes outside of its
buffers, kills the child: the parent then knows which input did, and continues after it with another
child.
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
"""Seconds allowed for one input."""
ADDRESS_SPACE = 1 << 30
"""Bytes that an input may reserve: trusting a length of 4 GB exceeds it."""
MEMORY = 64 << 20
"""Bytes that an input of any size may use: windows, and blocks of a table's rows."""
MEMORY_PER_BYTE = 256


def replay(paths: Sequence[Path], mode: str) -> dict[Path, str]:
    """Return what is wrong with these inputs, by path."""
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
"""Exit code of the child if it fails before the first input."""


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
    """Compile before measuring: it takes more time and memory than any input may."""
    use_every_kernel()
    for target in targets:
        for seed in TARGETS[target].seeds():
            run(target, seed)


def _limit_address_space() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _memory(field: str) -> int:
    """Return bytes of memory from /proc: `VmRSS` now, `VmHWM` at most since the reset."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) * 1024


def _reset_peak() -> None:
    # Not resource.getrusage: its peak is never reset, and starts with the parent's.
    Path("/proc/self/clear_refs").write_text("5")


def _failure(target: str, data: bytes) -> str | None:
    """Return what is wrong with the input, or None."""
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
