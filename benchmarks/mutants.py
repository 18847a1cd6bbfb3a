"""Mutation tests: check that the suite detects faults which would corrupt users' data.

Each mutant is one fault in a copy of the repository. The tests that should detect it run there; a
mutant survives if they pass. Run: `make mutants`, or `python -m benchmarks.mutants NAME…` for some.
Exit code 1 if one survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "dist")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: in `file`, `wrong` replaces the only `text`; `tests` should detect it.

    `compiled`: whether the tests need compiled kernels. Without, they run as Python, since a change
    of the decoder would otherwise compile all of them again.
    """

    name: str
    file: str
    text: str
    wrong: str
    tests: Sequence[str]
    compiled: bool = False

    def apply(self, root: Path) -> None:
        """Change the file in a copy of the repository.

        Raises ValueError unless the file contains the text exactly once.
        """
        path = root / self.file
        source = path.read_text(encoding="utf-8")
        if source.count(self.text) != 1:
            count = source.count(self.text)
            raise ValueError(
                f"{self.name}: {self.file} contains {self.text!r} {count} times, not once"
            )
        path.write_text(source.replace(self.text, self.wrong), encoding="utf-8")


MUTANTS = (
    Mutant(
        "MEDIUMINT without sign extension",
        "decoder/kernels/memory.py",
        "load_u16(buffer, position) | load_i8(buffer, position + 2) << 16",
        "load_u16(buffer, position) | load_u8(buffer, position + 2) << 16",
        ("tests/unit/decoder/columns/test_numbers.py",),
    ),
    Mutant(
        "DECIMAL with the other sign",
        "decoder/columns/decimals.py",
        "negative = -1 if stored & sign == 0 else 0",
        "negative = -1 if stored & sign != 0 else 0",
        ("tests/unit/decoder/columns/test_numbers.py",),
    ),
    Mutant(
        "checksums not verified",
        "decoder/framing/frames.py",
        "return int(crc32(buffer, position, end, tables) == stored)",
        "return 1",
        ("tests/unit/decoder/framing/test_frames.py",),
    ),
    Mutant(
        "compressed transactions skipped",
        "decoder/compression/payload_decoder.py",
        "yield self._session.enter_payloads(\n                    self._buffer.data, frames,",
        "_ = (\n                    self._buffer.data, frames,",
        ("tests/unit/decoder/compression/test_compressed_transactions.py",),
        compiled=True,
    ),
    Mutant(
        "a fault in a transaction dropped",
        "decoder/transactions/faults.py",
        "first = self._open.setdefault(fault.transaction, fault)\n",
        "first = self._open.get(fault.transaction, fault)\n",
        ("tests/unit/decoder/stream/test_stream_faults.py",),
        compiled=True,
    ),
    Mutant(
        "a missing file not reported",
        "pipeline/bronze/continuity.py",
        "    if gap:\n        return gap\n",
        "    if gap:\n        return None\n",
        ("tests/unit/pipeline/bronze/test_continuity.py",),
        compiled=True,
    ),
    Mutant(
        "a step applied twice",
        "pipeline/lake/tables/native.py",
        "return reached is not None and reached >= step.version",
        "return reached is not None and reached > step.version",
        ("tests/unit/pipeline/lake/tables/test_native.py",),
        compiled=True,
    ),
    Mutant(
        "old rows read with the latest names",
        "pipeline/silver/decode/table_names.py",
        "return known[place - 1][1] if place else shown",
        "return known[-1][1] if known else shown",
        ("tests/unit/pipeline/schema_history/timeline/test_minimal_metadata.py",),
        compiled=True,
    ),
    Mutant(
        "old rows left after key changes",
        "pipeline/gold/changes/fold.py",
        "    if key_changes:\n",
        "    if not key_changes:\n",
        ("tests/spark/pipeline/gold/changes/test_fold.py",),
        compiled=True,
    ),
    Mutant(
        "columns omitted by MINIMAL set to NULL",
        "pipeline/gold/changes/fold_partial.py",
        "sf.when(kept, nothing).otherwise(missing).alias(MISSING)",
        "sf.when(kept, nothing).otherwise(nothing).alias(MISSING)",
        ("tests/spark/pipeline/gold/changes/test_fold_partial.py",),
        compiled=True,
    ),
    Mutant(
        "rolled-back rows applied",
        "pipeline/gold/changes/changes.py",
        "    if not skip:\n        return changes\n    lsns,",
        "    if True:\n        return changes\n    lsns,",
        ("tests/integration/gold/test_gold_apply.py",),
        compiled=True,
    ),
    Mutant(
        "a row lost in a small batch",
        "pipeline/lake/files/table_scan.py",
        "found.append(batch)",
        "found.append(batch[1:])",
        ("tests/integration/gold/changes/test_gold_few_changes.py",),
        compiled=True,
    ),
    Mutant(
        "other rows lost when a small file is rewritten",
        "pipeline/gold/local/merge.py",
        "kept.append(rows.filter(pa.array(~here)))",
        "kept.append(rows.slice(0, 0))",
        ("tests/integration/gold/changes/test_gold_few_changes.py",),
        compiled=True,
    ),
    Mutant(
        "rows deleted by a deletion vector restored",
        "pipeline/gold/local/table.py",
        "    if _have_deletion_vectors(opened, files):\n",
        "    if False:\n",
        ("tests/spark/pipeline/gold/local/test_merge.py",),
        compiled=True,
    ),
    Mutant(
        "rows from before an ALTER TABLE kept beside the converted ones",
        "pipeline/gold/local/overwrite.py",
        "target.replace(files.to_pylist(), rows",
        "target.replace([], rows",
        ("tests/spark/pipeline/gold/local/test_overwrite.py",),
        compiled=True,
    ),
    Mutant(
        "columns that MINIMAL images leave out set to NULL",
        "pipeline/gold/local/fold_partial.py",
        "known[name] = place != _NONE",
        "known[name] = place >= _NONE",
        ("tests/spark/pipeline/gold/local/test_merge.py",),
        compiled=True,
    ),
    Mutant(
        "the oldest of equal rows removed instead of the newest",
        "pipeline/gold/local/keyless.py",
        "stored))[::-1]",
        "stored))",
        ("tests/spark/pipeline/gold/local/test_merge.py",),
        compiled=True,
    ),
    Mutant(
        "existing keys of gold taken for new",
        "pipeline/lake/delta_log/table_log.py",
        "pc.greater_equal(_sure(greatest), low)",
        "pc.greater(_sure(greatest), low)",
        ("tests/spark/pipeline/lake/delta_log/test_table_log.py",),
        compiled=True,
    ),
    Mutant(
        "a held table published as not held",
        "pipeline/gold/plan/publication.py",
        '"held": state.holds(table) is not None or table.to_lsn < state.cut_lsn',
        '"held": False',
        ("tests/integration/gold/test_gold_apply.py",),
        compiled=True,
    ),
)


def main() -> int:
    """Test the mutants named on the command line, or all; return 1 if one survives."""
    screen, survivors = Console(), []
    chosen = [mutant for mutant in MUTANTS if mutant.name in sys.argv[1:] or not sys.argv[1:]]
    for mutant in chosen:
        detected = is_detected(mutant)
        screen.print(f"{'detected' if detected else 'SURVIVED'}: {mutant.name}")
        survivors += [] if detected else [mutant]
    screen.print(f"{len(chosen) - len(survivors)} of {len(chosen)} were detected")
    return 1 if survivors else 0


def is_detected(mutant: Mutant) -> bool:
    """Return True if the mutant's tests fail in a copy of the repository with the fault.

    Raises RuntimeError if they also fail without it, or cannot be run.
    """
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(shutil.copytree(ROOT, Path(folder) / ROOT.name, ignore=LEFT_OUT))
        if not _pass(mutant, copied):
            raise RuntimeError(f"{mutant.name}: the tests also fail without the fault")
        mutant.apply(copied)
        return not _pass(mutant, copied)


def _pass(mutant: Mutant, copied: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests],
        cwd=copied,
        env={**os.environ, **({} if mutant.compiled else {"NUMBA_DISABLE_JIT": "1"})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{mutant.name}: pytest ended with {done.returncode}\n{done.stdout}")
    return done.returncode == pytest.ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
