"""Airflow in Chromium: the docs of DAGs, the log of a task, a broken file, the page of the lake."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from demo.in_airflow import FOLDER, USER, write_password
from tests.support.dags.standalone_airflow import StandaloneAirflow
from tests.support.programs.chromium import keep

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long

REPLICATION, RUN = "binlake_shop_replication", "first"
REPORT_URL = "https://lakes.example.com/shop.html"
POOL = {"slots": 1, "description": "", "include_deferred": True}
TABLES = [f"shop.{name}" for name in ("customers", "order_items", "orders", "payments", "products")]
ROW = f"equal to the source, each at its LSN (5): {', '.join(TABLES)}"
"""The longest line of `check`: more than the 80 columns at which a console would wrap."""
HEIGHT = "each => each.getBoundingClientRect().height"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def page(chromium: Browser, folder: Path) -> Iterator[Page]:
    """Replicate the recorded shop once, and log in. The file of a second source is wrong."""
    airflow = StandaloneAirflow(folder / "airflow")
    settings = {
        "source": "shop",
        "binlogs": str(FOLDER / "binlogs"),
        "lake": str(folder / "lake"),
        "airflow": {
            "schedule": None,
            "maintenance": None,
            "retries": 0,
            "report": str(folder / "lake.html"),
            "report_url": REPORT_URL,
        },
    }
    (airflow.sources / "shop.yml").write_text(json.dumps(settings))
    (airflow.sources / "broken.yaml").write_text("source: broken\nairflow: {seed: often}\n")
    password = write_password(airflow.home)
    with airflow.running({"binlake_shop": POOL}):
        airflow.trigger(REPLICATION, RUN)
        airflow.wait_for(RUN)
        assert airflow.states()[RUN] == "success"
        context = chromium.new_context(
            viewport={"width": 1400, "height": 1000}, base_url=airflow.url
        )
        opened = context.new_page()
        opened.goto("/dags")
        opened.locator("input[name=username]").fill(USER)
        opened.locator("input[name=password]").fill(password)
        opened.get_by_role("button", name="Sign in").click()
        opened.wait_for_url("**/dags")
        yield opened
        context.close()


def test_docs_keep_the_diagrams_lines_and_have_links_that_open(page: Page) -> None:
    page.goto(f"/dags/{REPLICATION}")
    page.get_by_role("button", name="Dag Docs").click()
    docs = page.get_by_role("dialog").filter(has_text="Dag Documentation")
    diagram = docs.locator("code").inner_text()
    assert diagram.splitlines() == ["run → check", "run → published", "run → report"]
    rows = docs.get_by_role("row").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["task", "run", "check", "published", "report"]
    assert docs.get_by_role("link", name="open").get_attribute("href") == REPORT_URL
    keep(page, "airflow-docs")
    with page.context.expect_page() as opening:
        docs.get_by_role("link", name="maintenance").click()
    opened = opening.value
    opened.get_by_role("heading", name="binlake_shop_maintenance").wait_for()
    keep(opened, "airflow-link")
    opened.close()


def test_the_log_of_check_has_each_row_on_a_line(page: Page) -> None:
    page.goto(f"/dags/{REPLICATION}/runs/{RUN}/tasks/check")
    row = page.get_by_text(ROW, exact=True)
    line = page.get_by_text("Source shop", exact=True)
    assert row.evaluate(HEIGHT) == line.evaluate(HEIGHT)
    keep(page, "airflow-log")


def test_the_list_of_dags_names_a_broken_file_and_its_line(page: Page) -> None:
    page.goto("/dags")
    link = page.get_by_role("link", name=re.compile("^Unreadable"))
    assert link.inner_text() == "Unreadable: broken.yaml:2: airflow.seed expects true or false"
    keep(page, "airflow-list")


def test_the_replication_writes_the_page_of_the_lake(page: Page, folder: Path) -> None:
    page.goto((folder / "lake.html").as_uri())
    assert page.locator("h1").inner_text() == str(folder / "lake")
    page.get_by_text("Nothing needs attention").wait_for()
    rows = page.locator("table", has_text="those with problems first").get_by_role("row")
    found = [row.split("\t")[:3] for row in rows.all_inner_texts()[1:]]
    assert found == [[table, "shop", "equal"] for table in TABLES]
    keep(page, "airflow-lake")
