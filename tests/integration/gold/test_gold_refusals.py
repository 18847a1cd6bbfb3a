"""Changes that cannot be applied hold only their table: runs continue, die, repeat, recover.

In the one lake, the refused changes are in the middle of a batch, after applied ones.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold import GoldState
from pipeline.gold.job import retry
from pipeline.lake import Lake, Ledger
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.kills import Executioner, Killed, at_commits
from tests.support.lake.table_rows import read_table
from tests.support.silver.made_silver import SOURCE, MadeTransaction as Tx, definition, item, lsn

PLAIN, CONF_KEY, DEFAULT = definition("plain"), definition("conf_key"), definition("default")
JSON = ColumnDefinition("j", ColumnType.JSON, length_bytes=4)
KEYLESS = definition("keyless", *PLAIN.columns, JSON, key=())
WIDER = definition("keyless", *KEYLESS.columns, ColumnDefinition("n", ColumnType.LONG), key=())
MOVED = definition("moved", *WIDER.columns, key=())
TWICE, INEXACT = definition("twice", key=()), definition("inexact")
KEYS = {"shop.conf_key": ["v"], "shop.twice": ["id"], "shop.inexact": ["v"]}
ADD = {"j": '[{"op":"insert","path":"$.b","value":2}]'}
ONE, TWO = (1, "a", '{"a":1}'), (1, "b", '{"a":1,"b":2}')
WRONG = "the document has nothing at $.x"


def make(lake: MadeLake) -> None:
    """Write all changes: at 5, `keyless` has a diff of another document, and is renamed later."""
    replace = {"j": '[{"op":"replace","path":"$.x","value":2}]'}
    made = [
        Tx(1).insert(PLAIN, 1, "a").insert(CONF_KEY, 1, "a").insert(DEFAULT, 1, "a"),
        Tx(2).insert(KEYLESS, *ONE).insert(KEYLESS, *ONE),
        Tx(4).insert(WIDER, *ONE, 7, version=2),
        Tx(5).update(WIDER, (*ONE, 7), (*ONE[:2], None, 7), version=2).partly(diff=replace),
        Tx(6).insert(MOVED, *TWO, 8),
        Tx(7).update(CONF_KEY, (1, None), (None, "b")).partly(before=["v"], after=["id"]),
        Tx(8).insert(DEFAULT, 2, None).partly(after=["v"]),
        Tx(9).update(DEFAULT, (2, None), (None, "c")).partly(before=["v"], after=["id"]),
        Tx(10).insert(PLAIN, 2, "b"),
        Tx(11).insert(PLAIN, 3, None).partly(after=["v"]),
        Tx(12).insert(TWICE, 1, "a").update(TWICE, (1, "a"), (2, "a")).insert(TWICE, 1, "b"),
        Tx(13).insert(TWICE, 2, "c").insert(INEXACT, 1, "a").insert(INEXACT, 2, "\ufffd"),
    ]
    made[9].rolled_back = [(100, 200)]
    made[3].update(WIDER, (*ONE, 7), (*ONE[:2], None, 7), version=2).partly(diff=ADD)
    created = [item("create", 1, table) for table in (PLAIN, CONF_KEY, DEFAULT)]
    created += [item("create", 12, table) for table in (TWICE, INEXACT)]
    lake.silver.batch(
        made,
        [
            *created,
            item("create", 2, KEYLESS),
            item("add_columns", 3, WIDER, 2, defaults={"n": "7"}),
            item("renamed", 6, MOVED, other=WIDER, pos=10),
            item("moved", 6, WIDER, other=MOVED, pos=10),
        ],
        last=13,
    )


class Refusals:
    """The lake, and the results of its runs."""

    def __init__(self, lake: MadeLake) -> None:
        self.lake = lake
        make(lake)
        self.deaths = 0
        for commits in (5, 9, 40):
            with pytest.MonkeyPatch.context() as patched:
                at_commits(patched, Executioner(commits, after=commits % 2 == 0))
                try:
                    self.first = lake.run(keys=KEYS)
                except Killed:
                    self.deaths += 1
        names = ("plain", "conf_key", "default", "keyless", "twice", "inexact")
        self.held = {name: self.rows(name) for name in names}
        self.cut = read_table(Lake(lake.root).cuts)[1].sort_by("batch").to_pylist()[-1]
        self.status = {t.table: t for t in read_status(lake.spark, lake.settings()).tables}
        self.second = lake.run(keys=KEYS)
        self.tried: LayerReport = retry(lake.spark, lake.settings(keys=KEYS), QuietProgress())
        self.mended = lake.run()
        self.marked = lake.run(on_fault="mark")

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        _, found = read_table(Lake(self.lake.root).gold("shop", table))
        return sorted(tuple(row.values())[:-2] for row in found.to_pylist())

    @property
    def state(self) -> GoldState:
        return GoldState.of(Ledger(self.lake.spark, Lake(self.lake.root), SOURCE))


@pytest.fixture(scope="module")
def refusals(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Refusals:
    return Refusals(MadeLake(spark, tmp_path_factory.mktemp("refusals")))


def test_tables_are_held_before_the_refused_change_and_others_continue(
    refusals: Refusals,
) -> None:
    assert refusals.deaths == 2
    assert refusals.held == {
        "plain": [(1, "a"), (2, "b")],
        "conf_key": [(1, "a")],
        "default": [(1, "a")],
        "keyless": [(*ONE, 7)] * 3,
        "twice": [(1, "b"), (2, "a")],
        "inexact": [],
    }
    faults = "\n".join(refusals.first.faults)
    for sentence in (
        "shop.conf_key is held: file number 1, position 7000: changes leave out columns of its key",
        "shop.default is held: file number 1, position 8000: changes leave out columns whose",
        "shop.keyless is held: file number 1, position 5000: a JSON diff does not fit",
        WRONG,
        "shop.moved is held: it is renamed together with shop.keyless",
        "shop.twice is held: file number 1, position 13000: two rows have the same key in the",
        "shop.inexact is held: file number 1, position 13000: a row's key in the settings (v) has",
    ):
        assert sentence in faults
    assert len(refusals.first.faults) == 6


def test_the_published_snapshot_lists_the_held_tables(refusals: Refusals) -> None:
    assert refusals.cut["lsn"] == lsn(13)
    held = {t["table"]: t["held"] for t in refusals.cut["tables"]}
    assert held == {**dict.fromkeys(refusals.status, True), "plain": False}
    assert {name: (t.lsn, t.complete) for name, t in refusals.status.items()} == {
        "plain": (lsn(13), True),
        "conf_key": (lsn(7) - 1, True),
        "default": (lsn(8) - 1, True),
        "keyless": (lsn(5) - 1, True),
        "moved": (lsn(6) - 1, False),
        "twice": (lsn(13) - 1, True),
        "inexact": (lsn(13) - 1, True),
    }


def test_the_next_run_does_nothing_and_a_retry_tries_again(refusals: Refusals) -> None:
    assert (refusals.second.batches, refusals.second.faults) == ((), refusals.first.faults)
    assert len(refusals.tried.batches) == 2
    assert refusals.tried.faults == refusals.first.faults


def test_another_key_in_conf_resumes_its_table(refusals: Refusals) -> None:
    assert len(refusals.mended.faults) == 3
    assert refusals.rows("conf_key") == [(1, "b")]
    assert refusals.rows("twice") == [(1, "b"), (2, "a"), (2, "c")]
    assert refusals.rows("inexact") == [(1, "a"), (2, "\ufffd")]


def test_with_on_fault_mark_gold_continues_without_unknown_values(
    refusals: Refusals,
) -> None:
    assert refusals.marked.faults == ()
    # Its update contained everything that the insert omitted.
    assert refusals.rows("default") == [(1, "a"), (2, "c")]
    assert refusals.rows("moved") == sorted([(*ONE, 7)] * 2 + [(1, "a", TWO[2], 7), (*TWO, 8)])
    complete = {name.table for name, table in refusals.state.tables.items() if table.complete}
    assert complete == {"plain", "conf_key", "twice", "inexact"}
