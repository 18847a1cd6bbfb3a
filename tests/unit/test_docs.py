"""The docs: they build strictly, the reference has every setting and column, messages are real."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tools" / "docs"))

from hooks import settings_models  # noqa: E402
from lake_columns import GOLD_COLUMNS, DocumentedTable, documented_tables  # noqa: E402

from pipeline.gold.table.names import COMMITTED_AT, LSN  # noqa: E402
from pipeline.settings.meanings import field_meanings  # noqa: E402

ELSEWHERE = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=\"?https?://")
MESSAGE = re.compile(r"^### `(.+)`$", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Warnings (a broken link, anchor or reference, a page not in nav) fail."""
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    assert [page for page in pages if ELSEWHERE.search(page.read_text())] == []


def test_the_reference_has_every_command_setting_and_name(site: Path) -> None:
    settings = (site / "reference" / "settings.html").read_text()
    assert all(f"<code>{key}</code>" in settings for key in ("lake", "server.tls.mode"))
    commands = (site / "reference" / "commands.html").read_text()
    assert all(f"binlake {name}" in commands for name in ("run", "capture", "verify"))
    assert "SegmentDecoder" in (site / "reference" / "python.html").read_text()


@pytest.mark.parametrize("model", settings_models(), ids=lambda model: model.__name__)
def test_every_setting_has_a_meaning(model: type[BaseModel]) -> None:
    assert [name for name, meaning in field_meanings(model).items() if not meaning] == []


@pytest.mark.parametrize("table", documented_tables(), ids=lambda table: table.path)
def test_every_column_of_the_lake_has_a_meaning(table: DocumentedTable) -> None:
    assert set(table.schema.names) == set(table.meanings)
    assert all(table.meanings.values())


def test_golds_own_columns_have_a_meaning() -> None:
    assert set(GOLD_COLUMNS) == {LSN, COMMITTED_AT}


def test_the_messages_of_troubleshooting_are_in_the_code() -> None:
    messages = MESSAGE.findall((DOCS / "troubleshooting.md").read_text())
    assert len(messages) > 20
    unknown = [
        (message, part)
        for message in messages
        for part in map(str.strip, message.split("…"))
        if part and not any(part in text for text in _texts())
    ]
    assert unknown == []


@cache
def _texts() -> frozenset[str]:
    """Every text in the product's code; of an f-string, its constant parts."""
    return frozenset(
        " ".join(node.value.split())
        for folder in ("decoder", "pipeline", "dags")
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_pages_outside_of_the_site_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / page).read_text())
    assert [target for target in targets if not (ROOT / target).exists()] == []


FOLDERS = (
    *("binlake", "conf", "dags", "decoder", "docs", "pipeline", "pyspark_binlog", "resources"),
    *("tests", "tools"),
)


@pytest.mark.parametrize("page", ["architecture", "testing", "where-to-change"])
def test_files_that_contributors_are_sent_to_exist(page: str) -> None:
    text = (DOCS / "contributing" / f"{page}.md").read_text()
    files = set(re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+\.\w+)`", text))
    assert files
    assert [file for file in sorted(files) if not (ROOT / file).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150
