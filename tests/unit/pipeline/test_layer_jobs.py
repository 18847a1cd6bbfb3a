"""Each layer's job.py as a program: its own folder comes first where Python looks for modules."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

PIPELINE = Path(__file__).parents[3] / "pipeline"
JOBS = sorted(PIPELINE.glob("*/job.py"))


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.parent.name)
def test_no_module_beside_a_job_has_the_name_of_another_library(job: Path) -> None:
    names = {path.stem for path in job.parent.iterdir()}
    assert not names & (set(sys.stdlib_module_names) | packages_distributions().keys())


def test_every_layer_has_a_job() -> None:
    assert {job.parent.name for job in JOBS} == {"bronze", "silver", "gold", "maintenance", "seed"}
