"""Each layer's job.py as a program: Python searches its own folder for modules first."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

PIPELINE = Path(__file__).parents[3] / "pipeline"
JOBS = sorted(PIPELINE.glob("*/job.py"))


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.parent.name)
def test_no_module_next_to_a_job_has_the_name_of_a_library(job: Path) -> None:
    names = {path.stem for path in job.parent.iterdir()}
    assert not names & (set(sys.stdlib_module_names) | packages_distributions().keys())


def test_every_layer_has_a_job() -> None:
    assert {job.parent.name for job in JOBS} == {"bronze", "silver", "gold", "maintenance", "seed"}
