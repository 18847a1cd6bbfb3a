"""When drift is looked for, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.gold import drift as module
from pipeline.gold.drift import CHEAP, Drift, in_all, sentences, watch

FOUND = Drift(10, 1, 2, 3)


@pytest.mark.parametrize(
    ("chosen", "fresh", "count", "looked"),
    [
        (True, True, CHEAP, True),
        (True, True, CHEAP + 1, False),
        ("full", True, CHEAP + 1, True),
        (False, True, 1, False),
        # What a run that died has applied would seem to have drifted.
        ("full", False, 1, False),
    ],
)
def test_drift_is_looked_for_as_conf_wants_it(
    monkeypatch: pytest.MonkeyPatch, *, chosen: bool | str, fresh: bool, count: int, looked: bool
) -> None:
    monkeypatch.setattr(module, "drift", lambda *_: FOUND)
    watching = watch(chosen, fresh=fresh)
    nothing: Any = None
    if watching is not None:
        for _ in range(2):
            watching.look("shop.t", nothing, nothing, nothing, count)
    found = watching.found if watching else {}
    assert found == ({"shop.t": Drift(20, 2, 4, 6)} if looked else {})


def test_records_add_up_and_sentences_tell_what_is_new() -> None:
    first = in_all(None, {"shop.t": FOUND, "shop.u": Drift(5)})
    second = in_all(first, {"shop.t": Drift(4, 0, 0, 1)})
    assert Drift.of(second["shop.t"]) == Drift(14, 1, 2, 4)
    assert second["shop.u"] == first["shop.u"]
    (told,) = sentences(first, second)
    assert told.startswith("shop.t: 1 of 4 changes")
    assert sentences(second, second) == []
    assert [line.split(":")[0] for line in sentences(None, second)] == ["shop.t"]
