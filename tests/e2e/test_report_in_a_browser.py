"""The page of a lake in Chromium: readable in every width and theme, and nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pipeline.run.page.document import document
from tests.support.page.made_page import (
    busy_page,
    first_run_failed_page,
    first_run_page,
    several_sources_page,
)
from tests.support.programs.chromium import keep, kept

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long

PAGES = {
    "busy": busy_page,
    "first_run": first_run_page,
    "first_run_failed": first_run_failed_page,
    "several_sources": several_sources_page,
}
OVERLAPPING = """
() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  if (!frame.width) return [];
  const texts = [...svg.querySelectorAll('text')]
    .filter(text => text.textContent.trim() && getComputedStyle(text).opacity !== '0')
    .map(text => [text.textContent, text.getBoundingClientRect()]);
  const found = texts.filter(([, box]) => box.left < frame.left - 2 || box.right > frame.right + 2
    || box.top < frame.top - 2 || box.bottom > frame.bottom + 2).map(([text]) => ['cut', text]);
  texts.forEach(([text, a], number) => texts.slice(number + 1).forEach(([other, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 2.5) found.push([text, other]);
  }));
  return found.map(pair => [svg.getAttribute('aria-label'), ...pair]);
})
"""
"""Texts of charts that overlap another one, or that the chart's edge cuts off."""
SMALL_TEXT = """
() => [...document.querySelectorAll('svg text')]
  .filter(text => text.getBoundingClientRect().height)
  .map(text => text.getBoundingClientRect().height)
  .reduce((least, height) => Math.min(least, height), 100)
"""
COLORS = """
() => {
  const parts = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = color => {
    const [r, g, b] = parts(color).map(n => n / 255)
      .map(n => n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = element => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (parts(color)[3] !== 0) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const all = 'svg text, h1, h2, h3, p, dt, dd, li, th, td, figcaption, caption, a, span, strong,'
    + ' time, code, summary';
  return [...document.querySelectorAll(all)]
    .filter(each => each.getBoundingClientRect().height && each.textContent.trim())
    .map(each => {
      const style = getComputedStyle(each);
      const own = light(each.tagName === 'text' ? style.fill : style.color);
      return [each.tagName, each.textContent.trim().slice(0, 40), own, light(background(each))];
    });
}
"""
"""Visible texts, each with the luminance of its color and of its background, from 0 to 1."""
CONTRAST = 4.5
"""Least contrast, as in WCAG: the ratio of the brighter luminance to the darker, each plus 0.05."""
Scheme = Literal["light", "dark"]


def unreadable(page: Page, scheme: Scheme) -> list[Any]:
    """Return the texts without contrast, or with that of the other theme: in a light one, text is
    darker than its background; in a dark one, brighter."""
    bright, dark = (3, 2) if scheme == "light" else (2, 3)
    texts = page.evaluate(COLORS)
    assert texts
    return [text for text in texts if (text[bright] + 0.05) / (text[dark] + 0.05) < CONTRAST]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_readable_and_fetches_nothing(
    chromium: Browser, tmp_path: Path, name: str, width: int, scheme: Scheme
) -> None:
    file = tmp_path / "lake.html"
    file.write_text(document(PAGES[name]()))
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    keep(page, f"{name}-{width}-{scheme}", full_page=True)
    assert requests == [file.as_uri()]
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPPING) == []
    assert page.evaluate(SMALL_TEXT) >= 10
    for details in page.locator("details").all():
        details.evaluate("each => each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert unreadable(page, scheme) == []
    context.close()


def test_a_printed_page_is_dark_on_white(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "lake.html"
    file.write_text(document(busy_page()))
    context = chromium.new_context(viewport={"width": 760, "height": 900}, color_scheme="dark")
    page = context.new_page()
    page.goto(file.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 760
    assert unreadable(page, "light") == []
    printed = page.pdf(format="A4", print_background=True, path=kept("busy.pdf"))
    assert printed.startswith(b"%PDF")
    context.close()
