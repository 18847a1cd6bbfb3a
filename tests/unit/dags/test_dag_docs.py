"""The documentation of DAGs and tasks: Markdown that Airflow renders, real links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG, TriggerRule

from binlake_airflow.dag_docs import TASKS, diagram, plain, task_docs

ROOT = Path(__file__).parents[3]
DAGS = ROOT / "dags"
EVERYTHING = """\
source: shop
airflow:
  {server: db, capture: true, seed: true, verify: "@weekly", maintenance: null,
   report: /srv/lake.html, report_url: "https://example.com/lake.html"}
"""
LAYERED = "source: crm\nairflow: {task_per_layer: true, seed: true}\n"
PAGE = "https://example.com/lake.html"
LINK = re.compile(r"\[[^]]+\]\(([^)]+)\)")


def bag_of(folder: Path, **environment: str) -> DagBag:
    """Airflow's DagBag of two sources with all tasks."""
    (folder / "shop.yml").write_text(EVERYTHING)
    (folder / "crm.yml").write_text(LAYERED)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BINLAKE_DOCS", raising=False)
        for name, value in {"BINLAKE_SOURCES": str(folder), **environment}.items():
            patch.setenv(name, value)
        return DagBag(str(DAGS), collect_dags=True)


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> DagBag:
    folder = tmp_path_factory.mktemp("sources")
    return bag_of(folder, AIRFLOW__API__BASE_URL="https://example.com/airflow/")


@pytest.mark.parametrize(
    ("dag", "expected"),
    [
        ("shop_replication", "capture → seed → run → check\nrun → published\nrun → report"),
        ("crm_replication", "seed → bronze → silver → gold → check\ngold → published"),
        (
            "shop_backfill",
            "binlogs → bronze → silver → gold → check\nsteps → gold\ngold → published",
        ),
        ("shop_maintenance", "maintenance"),
        ("shop_verify", "verify"),
    ],
)
def test_the_diagram_has_each_task(bag: DagBag, dag: str, expected: str) -> None:
    found = bag.dags[f"binlake_{dag}"]
    assert diagram(found) == expected
    # Airflow renders a code block without a language as one line.
    assert f"```text\n{expected}\n```" in str(found.doc_md)
    assert "\n    " not in str(found.doc_md)


def test_every_task_says_what_it_does_and_what_its_failure_means(bag: DagBag) -> None:
    tasks = {
        (dag.dag_id, task.task_id): task
        for dag in bag.dags.values()
        for task in dag.tasks
        if dag.dag_id != "example_binlake_report"
    }
    assert {task_id for _, task_id in tasks} == set(TASKS)
    for (dag_id, task_id), task in tasks.items():
        assert task.doc_md == task_docs(task_id)
        assert f"| **{task_id}** | {' | '.join(TASKS[task_id])} |" in str(bag.dags[dag_id].doc_md)


def test_nothing_is_code_in_a_sentence(bag: DagBag) -> None:
    """Airflow pads it, so that it covers the next line."""
    for dag in bag.dags.values():
        described = [param.get("description_md") or "" for param in _schemas(dag)]
        for text in (dag.doc_md or "", *described):
            assert "`" not in text.replace("```", "")


def _schemas(dag: DAG) -> list[dict[str, str]]:
    return [dag.params.get_param(name).schema for name in dag.params]


def test_links_lead_to_the_sources_dags(bag: DagBag) -> None:
    """They have the path under which Airflow is served, and no guide's, which is not published."""
    for name, kinds in {"shop": 4, "crm": 3}.items():
        text = str(bag.dags[f"binlake_{name}_replication"].doc_md)
        links = [link for link in LINK.findall(text) if link != PAGE]
        assert len(links) == kinds
        for link in links:
            assert link.removeprefix("/airflow/dags/") in bag.dags
    text = str(bag.dags["binlake_shop_maintenance"].doc_md)
    assert "[maintenance](/airflow/dags/binlake_shop_maintenance) by hand" in text
    for guide in re.findall(r"docs/guides/\S+", text):
        assert (ROOT / guide).is_file()
    assert "shop.yml" in text


def test_the_page_of_the_lake_is_linked_and_written_also_after_a_failed_run(bag: DagBag) -> None:
    for kind in ("replication", "maintenance"):
        text = str(bag.dags[f"binlake_shop_{kind}"].doc_md)
        assert f"**Page of the lake:** [open]({PAGE})" in text
    task: Any = bag.dags["binlake_shop_replication"].get_task("report")
    assert (task.command, task.options) == (("report",), {"--html": "/srv/lake.html"})
    assert task.trigger_rule == TriggerRule.ALL_DONE
    assert "Page of the lake" not in str(bag.dags["binlake_crm_replication"].doc_md)


def test_guides_are_links_if_the_documentation_is_published(tmp_path: Path) -> None:
    bag = bag_of(tmp_path, BINLAKE_DOCS="https://docs.example.com/binlake/")
    links = LINK.findall(str(bag.dags["binlake_crm_replication"].doc_md))
    guides = [link for link in links if link.startswith("https://docs.example.com/binlake/guides/")]
    assert len(guides) == 2
    for guide in guides:
        assert (ROOT / "docs" / "guides" / Path(guide).name).with_suffix(".md").is_file()


def test_the_dag_of_a_wrong_file_lists_every_problem(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yml"
    file.write_text("source: a\nairflow:\n  seed: often\n  tries: 3\n")
    found = bag_of(tmp_path).dags["binlake_wrong_unreadable"]
    text = str(found.doc_md)
    first, second = (line for line in text.splitlines() if line.startswith("- "))
    assert first == f"- {plain(str(file))}:3: airflow.seed expects true or false"
    assert f"{plain(str(file))}:4: airflow.tries is not a setting" in second
    name = "Unreadable: wrong.yml:3: airflow.seed expects true or false (and 1 more)"
    assert found.dag_display_name == name
    assert str(found.get_task("read").doc_md) == text
