"""Parts that all charts share: ticks, labels, and texts that can be drawn."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import altair as alt
import pytest

from pipeline.run.page.chart import bar_size, data, label_width, printable, svg, ticks

NOON = datetime(2026, 11, 26, 12, tzinfo=timezone.utc)


def times(first: datetime, last: datetime, most: int) -> list[str]:
    found = (datetime.fromtimestamp(at / 1000, timezone.utc) for at in ticks(first, last, most))
    return [f"{at:%d %H:%M}" for at in found]


@pytest.mark.parametrize(
    ("span", "most", "found"),
    [
        (timedelta(hours=1), 4, ["26 12:00", "26 12:30", "26 13:00"]),
        (timedelta(hours=30), 4, ["26 12:00", "27 00:00", "27 12:00"]),
        (timedelta(days=3), 8, ["26 12:00", "27 00:00", "27 12:00", "28 00:00", "28 12:00"]),
        (timedelta(days=3), 4, ["27 00:00", "28 00:00", "29 00:00"]),
        (timedelta(days=30), 4, ["03 00:00", "17 00:00"]),
        (timedelta(0), 4, ["26 12:00"]),
    ],
)
def test_ticks_are_at_round_times(span: timedelta, most: int, found: list[str]) -> None:
    assert times(NOON, NOON + span, most)[: len(found)] == found


@pytest.mark.parametrize("days", [0.01, 0.3, 1, 2.5, 7, 30, 90])
@pytest.mark.parametrize("most", [3, 4, 9])
def test_there_are_some_ticks_and_not_more_than_fit(days: float, most: int) -> None:
    assert 1 <= len(ticks(NOON, NOON + timedelta(days=days), most)) <= most + 1


def test_labels_take_a_third_at_most() -> None:
    assert label_width(["ab", "abcd"], 600) == 36
    assert label_width(["a" * 300], 600) == 200
    assert label_width([], 600) == 8


@pytest.mark.parametrize(("count", "size"), [(1, 28), (30, 15), (6000, 1)])
def test_few_bars_stay_bars_and_many_stay_visible(count: int, size: float) -> None:
    assert bar_size(600, count) == size


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x01b\x1b\x7f", "a�b��"),
        ("\ud800 \ufffe", "� �"),
        ("tab\t, line\n, <b>&amp; ü📦 \u202e", "tab\t, line\n, <b>&amp; ü📦 \u202e"),
    ],
)
def test_characters_that_xml_or_html_forbid_are_replaced(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_texts_of_any_characters_can_be_drawn() -> None:
    """At some, vl-convert would end the process; at others, it would fail to cut a label."""
    texts = [
        "".join(map(chr, range(0x80))),
        "".join(map(chr, range(0x80, 0xA1))),
        "\ud800\udfff\ufdd0\ufffe\uffff\ufeff\u202e\u0301\u200d",
        "📦" * 30,
        "]]><!--<![CDATA[&#0;&bogus;",
        "ظهر" * 30,
    ]
    marks = alt.Chart(data([{"text": text} for text in texts])).mark_point()
    names = alt.Y("text:N", axis=alt.Axis(labelLimit=55))
    drawn = svg(marks.encode(names), "all", 300)
    assert drawn.startswith('<svg role="img" aria-label="all" viewBox="0 0 300 ')
    assert drawn.count("…") >= 4
    assert "<script" not in drawn
    assert "]]>" not in drawn
