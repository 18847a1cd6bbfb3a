"""The page as HTML: valid, escaped, from nowhere else, and of use without its charts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from xml.etree.ElementTree import Element

import html5lib
import pytest

from pipeline.run.page import chart
from pipeline.run.page.document import document
from pipeline.run.page.lake_page import LakePage
from tests.support.page.made_page import (
    EVIL,
    busy_page,
    first_run_failed_page,
    first_run_page,
    several_sources_page,
)

PAGES = {
    "busy": busy_page,
    "first run": first_run_page,
    "first run failed": first_run_failed_page,
    "several sources": several_sources_page,
}
FETCHED = {"src", "href", "srcset", "data", "poster", "action"}
"""Attributes that a browser may load something by."""
EMPTY = '<svg width="9" height="9" viewBox="0 0 9 9"></svg>'
ACTIVE = {"script", "iframe", "object", "embed", "link", "img", "image", "use", "base", "form"}


@cache
def text_of(name: str) -> str:
    return document(PAGES[name]())


def parsed(text: str) -> Element:
    """Return the document's root; raises for anything that is not valid HTML."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    found: Element = parser.parse(text)
    return found


@cache
def root_of(name: str) -> Element:
    return parsed(text_of(name))


def words(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def local(tag: object) -> str:
    return str(tag).rpartition("}")[2]


def figures(root: Element) -> Iterator[Element]:
    return root.iter("figure")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_valid_html_and_loads_nothing(name: str) -> None:
    root = root_of(name)
    tags = {local(element.tag) for element in root.iter()}
    assert not tags & ACTIVE
    for element in root.iter():
        for attribute, value in element.attrib.items():
            assert not local(attribute).startswith("on")
            assert "url(" not in value
            if local(attribute).rpartition(":")[2] in FETCHED:
                assert value.startswith("#"), (element.tag, attribute, value)
    styles = " ".join(style.text or "" for style in root.iter("style"))
    assert not re.search(r"url\(|@import|https?:", styles)
    (policy,) = (
        meta.get("content") for meta in root.iter("meta") if meta.get("http-equiv") is not None
    )
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_names_of_tables_are_shown_as_they_are_and_never_markup() -> None:
    text, root = text_of("busy"), root_of("busy")
    assert "<script" not in text
    assert text.count("</style>") == 1
    shown = [words(cell) for cell in root.iter("th")]
    for name in EVIL:
        printable = re.sub(r"[\x00-\x1f]", "\N{REPLACEMENT CHARACTER}", name)
        assert f"shop.{printable}" in shown
        drawn = [words(one) for one in root.iter() if local(one.tag) == "text"]
        label = printable.replace("📦", "\N{REPLACEMENT CHARACTER}")
        assert any(label[:6] in one for one in drawn)
    assert "MySQL went away: <b>'db'</b>." in words(root)


@pytest.mark.parametrize("name", PAGES)
def test_tables_say_what_their_headings_head_and_ids_are_unique(name: str) -> None:
    root = root_of(name)
    for heading in root.iter("th"):
        assert heading.get("scope") in ("col", "row")
    for table in root.iter("table"):
        assert table.find("caption") is not None
        rows = [len(list(row)) for row in table.iter("tr")]
        assert len(set(rows)) == 1
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    labels = [one.get("aria-labelledby") for one in root.iter() if one.get("aria-labelledby")]
    assert set(labels) <= set(ids)
    links = {str(link.get("href")).removeprefix("#") for link in root.iter("a")}
    assert links <= set(ids)


def test_each_chart_has_two_widths_and_its_data_beside_it() -> None:
    found = list(figures(root_of("busy")))
    assert [one.get("id") for one in found] == [
        "freshness",
        "run-times",
        "daily-rows",
        "table-rows",
        "schema-changes",
        "sizes",
    ]
    for figure in found:
        drawings = [one for one in figure.iter() if local(one.tag) == "svg"]
        assert len(drawings) == 2
        assert {one.get("role") for one in drawings} == {"img"}
        assert all(one.get("aria-label") for one in drawings)
        assert figure.find("details//table/tbody/tr") is not None
        assert words(figure.find("figcaption") or figure)


def test_what_needs_attention_comes_first_with_the_way_on() -> None:
    main = root_of("busy").find("body/main")
    assert main is not None
    first = words(next(iter(main)))
    order = ("Held tables (2)", "Problems (2)", "Incomplete tables (1)", "Drifted tables (1)")
    assert sorted(order, key=first.index) == list(order)
    assert "binlake retry --source shop --lake /data/lake applies what was held" in first
    assert "binlake seed --source shop --lake /data/lake --table shop.table_000 reads" in first
    assert "last verification" in words(main).lower()
    assert "24 tables compared with db:3306" in words(main)


def test_a_lake_whose_first_run_failed_says_why_and_draws_nothing_empty() -> None:
    root = root_of("first run failed")
    text = words(root)
    assert "Nothing is published yet." in text
    assert "No snapshot is published yet." in text
    assert "No run has applied rows." in text
    assert "MySQL went away" in text
    drawn = {
        figure.get("id")
        for figure in figures(root)
        if any(local(one.tag) == "svg" for one in figure.iter())
    }
    assert drawn == {"run-times"}


def test_a_page_without_trouble_says_so_and_when_it_was_made() -> None:
    text = words(root_of("first run"))
    assert "Nothing needs attention" in text
    assert "2026-11-26 14:20:05 UTC" in text
    assert "All times are in UTC" in text


def test_many_tables_are_all_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    # That a chart draws only some of them is tested with each chart.
    monkeypatch.setattr(chart.vl_convert, "vegalite_to_svg", lambda *_, **__: EMPTY)
    page: LakePage = busy_page(500, days=3)
    text = document(page)
    root = parsed(text)
    shown = words(root)
    for table in page.status.tables:
        assert re.sub(r"[\x00-\x1f]", "\N{REPLACEMENT CHARACTER}", f"{table.name}") in shown
    assert len(text) < 3_000_000


def test_secrets_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "fe98dcba76543210" * 2
    monkeypatch.setenv("DB_PASSWORD", secret)
    page = first_run_failed_page()
    status = replace(page.status, problems=(f"db refused {secret}.",))
    text = document(replace(page, status=status, runs=()))
    assert secret not in text
    assert "db refused ***." in text
