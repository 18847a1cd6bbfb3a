"""`make fuzz`: explore every target in turn, then replay the whole corpus in other modes.

python -m tests.fuzz.run SECONDS [TARGET…] (seconds for each target)

Each finding becomes a file in tests/data/fuzz, which the tests replay from then on. The corpus
stays in .cache/fuzz, and the next run starts with it.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.corpus import ROOT
from tests.fuzz.findings import CACHE, REGRESSIONS, inputs, record
from tests.fuzz.replay import MODES, replay
from tests.fuzz.targets import TARGETS

LARGEST = 8192
"""The maximum size of an input in bytes."""
_HANG = 60
_MEGABYTES = 3000
_PROGRESS = re.compile(r"#(\d+)\s.*cov: (\d+)")


def main(seconds: int, targets: list[str]) -> int:
    """Return the exit code: 1 if anything was found."""
    before = set(inputs(REGRESSIONS))
    for target in targets:
        _explore(target, seconds)
    gathered = [path for path in inputs(CACHE / "corpus") if path.parent.name in targets]
    for mode in ("compiled", "checked"):
        print(f"replay, {mode}: {len(gathered)} inputs", flush=True)
        for path, reason in replay(gathered, mode).items():
            print(f"  {path}: {reason}", flush=True)
            record(path.parent.name, path.read_bytes(), reason, f"{mode} {reason}")
    found = sorted(set(inputs(REGRESSIONS)) - before)
    for path in found:
        print(f"found: {path.relative_to(ROOT)}")
    print(f"{len(found)} new findings")
    return int(bool(found))


def _explore(target: str, seconds: int) -> None:
    seeds, corpus, dead = (CACHE / kind / target for kind in ("seeds", "corpus", "dead"))
    for folder in (seeds, corpus, dead):
        folder.mkdir(parents=True, exist_ok=True)
    for seed in TARGETS[target].seeds():
        (seeds / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    log = CACHE / f"{target}.log"
    stop = time.monotonic() + seconds
    while (left := round(stop - time.monotonic())) > 0:
        options = [
            f"-max_total_time={left}",
            f"-max_len={LARGEST}",
            f"-timeout={_HANG}",
            f"-rss_limit_mb={_MEGABYTES}",
            f"-artifact_prefix={dead}/",
        ]
        with log.open("w") as output:
            ended = subprocess.run(
                [sys.executable, "-m", "tests.fuzz.explore", target, *options, corpus, seeds],
                env={**os.environ, **MODES["interpreted"]},
                cwd=ROOT,
                stdout=output,
                stderr=output,
                check=False,
            )
        print(f"{target}: {_progress(log.read_text(errors='replace'))}", flush=True)
        if ended.returncode == 0:
            break
        if not _keep_dead(target, dead):
            raise SystemExit(f"{target} cannot be fuzzed: see {log}")


def _progress(log: str) -> str:
    counts = _PROGRESS.findall(log)
    return "{} inputs, {} branches".format(*counts[-1]) if counts else "nothing"


def _keep_dead(target: str, folder: Path) -> bool:
    """Record the inputs that crashed the process; return False if there are none."""
    found = [path for path in folder.iterdir() if path.is_file()]
    for path in found:
        kind = path.name.split("-")[0]  # libFuzzer's names: crash-…, timeout-…, oom-…
        record(target, path.read_bytes(), kind, f"{kind} {path.name}")
        path.unlink()
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), sys.argv[2:] or list(TARGETS)))
