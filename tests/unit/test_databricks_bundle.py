"""The Databricks bundle: what Databricks' own models take, and what it calls is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import pytest
import typer
import yaml
from databricks.bundles.jobs import Job
from pydantic import BaseModel, ValidationError

from pipeline.cli.app import app
from pipeline.cli.databricks_task import arguments
from pipeline.settings import Settings

ROOT = Path(__file__).parent.parent.parent
BUNDLE = yaml.safe_load((ROOT / "databricks.yml").read_text())
RESOURCES_FILES = sorted(ROOT.glob("resources/*.yml"))
RESOURCES = [yaml.safe_load(file.read_text()) for file in RESOURCES_FILES]
JOBS: dict[str, Any] = {
    name: job for found in RESOURCES for name, job in found["resources"]["jobs"].items()
}
TASKS = {task["task_key"]: task for task in JOBS["binlake"]["tasks"]}
DEFAULTS = {one["name"]: one["default"] for one in JOBS["binlake"]["parameters"]}
PARAMETER = re.compile(r"\{\{job\.parameters\.(\w+)\}\}")
VARIABLE = re.compile(r"\$\{var\.(\w+)\}")


class _Strict(BaseModel, extra="forbid"):
    """A part of databricks.yml, of which `databricks-bundles` has no models; source:
    https://docs.databricks.com/dev-tools/bundles/reference."""


class _Name(_Strict):
    name: str


class _Variable(_Strict):
    description: str
    default: str


class _Artifact(_Strict):
    type: Literal["whl", "jar"]
    path: str
    build: str
    dynamic_version: bool


class _Workspace(_Strict):
    root_path: str


class _Target(_Strict):
    mode: Literal["development", "production"]
    default: bool = False
    workspace: _Workspace | None = None


class Bundle(_Strict):
    """The whole file."""

    bundle: _Name
    variables: dict[str, _Variable]
    artifacts: dict[str, _Artifact]
    include: list[str]
    targets: dict[str, _Target]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_one_that_databricks_knows(name: str) -> None:
    job = Job.from_dict(JOBS[name])
    assert job.max_concurrent_runs == 1
    with pytest.raises(ValueError, match="no_such_field"):
        Job.from_dict({**JOBS[name], "no_such_field": 1})


@pytest.mark.parametrize("file", RESOURCES_FILES, ids=lambda file: file.name)
def test_tasks_run_in_an_environment_with_the_wheel_that_is_built(file: Path) -> None:
    for job in yaml.safe_load(file.read_text())["resources"]["jobs"].values():
        specs = {one["environment_key"]: one["spec"] for one in job["environments"]}
        assert {task["environment_key"] for task in job["tasks"]} == specs.keys()
        for spec in specs.values():
            (wheel,) = spec["dependencies"]
            assert (file.parent / wheel).resolve() == ROOT / "dist" / "*.whl"
    makefile = (ROOT / "Makefile").read_text()
    assert BUNDLE["artifacts"]["binlake"]["build"] == "make wheel"
    assert "build --target wheel --directory dist" in makefile


def test_the_trigger_waits_for_as_long_as_databricks_asks_for() -> None:
    trigger = JOBS["binlake"]["trigger"]["file_arrival"]
    assert min(trigger[key] for key in trigger if key.endswith("_seconds")) >= 60


def test_the_bundle_has_what_its_reference_tells_and_nothing_else() -> None:
    assert Bundle.model_validate(BUNDLE).targets["dev"].default
    for wrong in (
        {"artifacts": {"binlake": {**BUNDLE["artifacts"]["binlake"], "type": "weel"}}},
        {"targets": {"dev": {"mode": "prodction"}}},
        {"targets": {"dev": {"mode": "production", "workspace": {"root_pth": "/"}}}},
        {"variables": {"x": {"defalt": "1"}}},
    ):
        with pytest.raises(ValidationError):
            Bundle.model_validate({**BUNDLE, **wrong})


def test_every_resource_is_included_and_every_variable_declared() -> None:
    assert BUNDLE["include"] == ["resources/*.yml"]
    assert all(found.keys() == {"resources"} for found in RESOURCES)
    used = VARIABLE.findall(yaml.safe_dump([BUNDLE, *RESOURCES]))
    assert set(used) == set(BUNDLE["variables"])


def test_layers_follow_each_other_and_the_check_comes_last() -> None:
    depends = {
        key: [other["task_key"] for other in task.get("depends_on", [])]
        for key, task in TASKS.items()
    }
    assert depends == {"bronze": [], "silver": ["bronze"], "gold": ["silver"], "check": ["gold"]}


@pytest.mark.parametrize("key", TASKS)
def test_a_task_calls_a_command_with_options_that_it_has(key: str) -> None:
    task = TASKS[key]["python_wheel_task"]
    assert task["package_name"] == "binlake"
    program = re.compile(f'^{re.escape(task["entry_point"])} = "pipeline', re.MULTILINE)
    assert program.search((ROOT / "pyproject.toml").read_text())
    params = _params(task["parameters"], DEFAULTS)
    assert str(params["conf"]).endswith("/conf/databricks/${bundle.target}.yml")
    assert not any(params.get(name) for name in DEFAULTS), "nothing but what is new, and all of it"


def test_parameters_of_the_job_reach_the_layers_that_know_them() -> None:
    given = {"until": "uuid:7", "full_refresh": "true"}
    assert given.keys() == DEFAULTS.keys()
    parameters = {key: task["python_wheel_task"]["parameters"] for key, task in TASKS.items()}
    reached = {key: _params(found, given) for key, found in parameters.items()}
    full = {key for key, params in reached.items() if params.get("full_refresh")}
    until = {key for key, params in reached.items() if params.get("until") == "uuid:7"}
    assert (full, until) == ({"silver", "gold"}, {"gold"})


def _params(parameters: list[str], given: dict[str, str]) -> dict[str, Any]:
    """The options that a task's command gets, where the job is given these values."""
    filled_in = [PARAMETER.sub(lambda found: given[found[1]], one) for one in parameters]
    name, *options = arguments(filled_in)
    command = typer.main.get_command(app).commands[name]
    return command.make_context(name, options).params


@pytest.mark.parametrize("target", BUNDLE["targets"])
def test_each_target_has_settings_with_tables_in_a_catalog(target: str) -> None:
    settings = Settings.load(ROOT / "conf" / "databricks" / f"{target}.yml")
    assert settings.layout.namespace == f"`{settings.catalog}`.`{settings.lake_schema}`"
    binlogs = BUNDLE["variables"]["binlogs"]["default"]
    assert settings.binlogs == binlogs.rstrip("/")
