"""Findings: a small file for each place in the source that raised an exception."""

from __future__ import annotations

import hashlib
import traceback
from pathlib import Path

from tests.fuzz.corpus import ROOT

REGRESSIONS = ROOT / "tests" / "data" / "fuzz"
"""Inputs that once broke the rule, as `<target>/<name>`: tests run each of them in every mode."""
CACHE = ROOT / ".cache" / "fuzz"
_REASONS = CACHE / "reasons"


def record(target: str, data: bytes, reason: str, place: str) -> Path:
    """Keep the input (the shorter of two from the same place) and, outside of git, the reason.

    `place` identifies a finding.
    """
    name = hashlib.sha256(place.encode()).hexdigest()[:12]
    path = REGRESSIONS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    _REASONS.mkdir(parents=True, exist_ok=True)
    if not path.exists() or len(data) < path.stat().st_size:
        path.write_bytes(data)
        (_REASONS / name).write_text(reason)
    return path


def place_of(error: BaseException) -> str:
    """Return the exception's type, and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} {Path(last.filename).name}:{last.lineno}"


def inputs(folder: Path) -> list[Path]:
    """Return every `<target>/<name>` of a folder of regressions, or of a fuzzing corpus."""
    return sorted(path for path in folder.glob("*/*") if path.is_file())
