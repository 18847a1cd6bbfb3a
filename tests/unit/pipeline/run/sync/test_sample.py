"""Samples that a sync compares with the server: which tables, and what is reported about them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.errors import BinlakeError
from pipeline.observe.interruption import handling_signals
from pipeline.run.sync import sample
from pipeline.run.sync.sample import VerifiedSample
from pipeline.settings import Settings
from pipeline.verify.against import Comparison, NotCompared, TableDifference
from pipeline.verify.report import Verification
from tests.support.observe.captured_log import LogRecords, captured_log
from tests.support.source.capturing import eventually

SETTINGS = Settings.load(None, source="shop", lake="/lake", sync={"verify_tables": 2})
EQUAL = Comparison("db", "now", "", 2, (), ())
DIFFERENT = Comparison("db", "now", "", 2, (TableDifference("shop", "a[1]", "3 rows, not 2."),), ())
ELSEWHERE = Comparison("db", "now", "gold lags.", 2, DIFFERENT.differences, ())
LOCKED = Comparison("db", "now", "", 1, (), (), (NotCompared("shop.a[1]", "it was locked."),))


@pytest.fixture
def log() -> Iterator[LogRecords]:
    with captured_log() as lines:
        yield lines


class Verifier:
    """The findings of verify, in turn, and the tables that it was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, whole: dict[str, bool]) -> None:
        self.found: list[Comparison | Exception] = []
        self.asked: list[list[str]] = []
        self.recorded: list[Verification] = []
        state = SimpleNamespace(
            tables={
                name: SimpleNamespace(complete=complete, dropped=name.endswith("gone"))
                for name, complete in whole.items()
            },
            holds=lambda table: None,
        )
        monkeypatch.setattr(sample, "Ledger", lambda *_: None)
        monkeypatch.setattr(sample, "GoldState", SimpleNamespace(of=lambda _: state))
        monkeypatch.setattr(sample, "verify_with_server", self._verify)
        monkeypatch.setattr(sample, "keep_record", lambda *given: self.recorded.append(given[2]))
        spark: Any = SimpleNamespace()
        self.sample = VerifiedSample(spark, SETTINGS)

    def _verify(self, *_: object, tables: list[str], **__: Any) -> Verification:
        self.asked.append(tables)
        found = self.found.pop(0)
        if isinstance(found, Exception):
            raise found
        return Verification("/lake", "shop", 1, None, (), found)

    def verify(self, found: Comparison | Exception) -> bool:
        self.found.append(found)
        began = self.sample.verify()
        for thread in threading.enumerate():
            if thread.name == "verify":
                thread.join(10)
        return began


def test_only_tables_that_gold_claims_to_have_in_full_are_compared(
    monkeypatch: pytest.MonkeyPatch, log: LogRecords
) -> None:
    whole = {"shop.a[1]": True, "shop.seeding": False, "shop.gone": True, "shop.b": True}
    verifier = Verifier(monkeypatch, whole)
    assert verifier.verify(EQUAL)
    assert [sorted(names) for names in verifier.asked] == [["shop.a[[]1]", "shop.b"]]
    assert len(verifier.recorded) == 1
    assert sorted(log.of("verified")[0]["tables"]) == ["shop.a[1]", "shop.b"]
    none = Verifier(monkeypatch, {"shop.seeding": False})
    assert not none.verify(EQUAL)
    assert none.asked == []


def test_a_difference_stays_one_until_a_sample_finds_the_table_equal(
    monkeypatch: pytest.MonkeyPatch, log: LogRecords
) -> None:
    verifier = Verifier(monkeypatch, {"shop.a[1]": True})
    for found, differing in (
        (EQUAL, set()),
        (DIFFERENT, {"shop.a[1]"}),
        (BinlakeError("The server is gone."), {"shop.a[1]"}),
        (EQUAL, set()),
        (ELSEWHERE, set()),
        (LOCKED, set()),
        (ValueError("a bug"), set()),
    ):
        verifier.verify(found)
        assert verifier.sample.differing == differing
    assert [line["event"] for line in log.lines] == [
        *("verified", "differs", "verify_failed", "verified"),
        *("verify_failed", "verify_failed", "verify_failed"),
    ]
    assert [bool(line["exc_info"] or line.get("exc_text")) for line in log.of("verify_failed")] == [
        *(False, False, False, True)
    ]


def test_the_process_does_not_wait_for_a_verification_under_way(
    monkeypatch: pytest.MonkeyPatch, log: LogRecords
) -> None:
    verifier, works, ends = Verifier(monkeypatch, {"shop.a": True}), Event(), Event()

    def verify(*_: object, **__: object) -> Verification:
        works.set()
        ends.wait(10)
        raise BinlakeError("Spark is gone.")

    monkeypatch.setattr(sample, "verify_with_server", verify)
    for under_way in (False, True):
        if under_way:
            assert verifier.sample.verify()
            assert works.wait(10)
        with handling_signals(lambda _: None) as interruption:
            verifier.sample.end()
            assert interruption.leaves_threads == under_way
    ends.set()
    eventually(lambda: all(one.name != "verify" for one in threading.enumerate()))
    assert log.of("verify_failed") == [], "it has ended"
