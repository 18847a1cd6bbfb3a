"""Mutants still apply to the product's source, and their tests exist."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.mutants import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mutant_changes_one_place_of_the_product(mutant: Mutant, tmp_path: Path) -> None:
    file = tmp_path / mutant.file
    file.parent.mkdir(parents=True)
    shutil.copy(ROOT / mutant.file, file)
    mutant.apply(tmp_path)
    assert file.read_text() != (ROOT / mutant.file).read_text()
    compile(file.read_text(), mutant.file, "exec")
    assert all((ROOT / test).exists() for test in mutant.tests)


def test_a_mutant_whose_text_is_missing_or_repeated_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    for text in ("x = 1", "y = 1"):
        with pytest.raises(ValueError, match="times, not once"):
            Mutant("m", "a.py", text, "z = 1", ()).apply(tmp_path)


def test_at_least_ten_mutants_have_distinct_names() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 10
