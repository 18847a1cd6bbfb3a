"""Folding changes with partial images, compared with applying them one by one to a dictionary."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.gold.changes.fold import DELETE, Shape
from pipeline.gold.changes.fold_partial import MISSING, fold_partial, misfits
from pipeline.gold.changes.images import LeftOut
from tests.support.gold.partial_changes import Replica

COLUMNS = ("id", "a", "b", "j")
IMAGE = "struct<id: int, a: int, b: string, j: string>"
SILVER = (
    "__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp,"
    " __absent_before array<string>, __absent_after array<string>,"
    f" __json_diff map<string, string>, before {IMAGE}, after {IMAGE}"
)
GOLD = "id int, a int, b string, j string, __lsn bigint, __committed_at timestamp"
AT = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
SHAPE = Shape(COLUMNS, ("id",))
DEFAULTS: dict[str, Any] = {"a": 7, "b": "none", "j": None}


def left_out() -> LeftOut:
    """Return the meaning for these tests' table: a JSON column, DEFAULTs for all but the key."""
    defaults = {"a": sf.lit(7), "b": sf.lit("none"), "j": sf.lit(None).cast("string")}
    return LeftOut(frozenset({"j"}), defaults)


@dataclass
class Log:
    """Changes with partial images, and the resulting rows."""

    start: dict[int, dict[str, Any]]
    changes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.replica = Replica("id", ("j",), DEFAULTS)
        for key, row in self.start.items():
            self.replica.rows[key] = {**row, "j": _parsed(row["j"])}

    def add(
        self,
        op: str,
        before: dict[str, Any] | None,
        after: dict[str, Any] | None,
        diffs: dict[str, list[dict[str, Any]]] | None = None,
    ) -> None:
        """Add a change whose images contain only the given columns."""
        texts = {name: json.dumps(found) for name, found in (diffs or {}).items()}
        change = {
            "__op": op,
            "__lsn": 1000 + len(self.changes) // 3,
            "__pos": len(self.changes) % 3,
            "__row": 0,
            "__committed_at": AT,
            "__absent_before": _absent(before, ()),
            "__absent_after": _absent(after, texts),
            "__json_diff": texts or None,
            "before": _image(before),
            "after": _image(after),
        }
        self.changes.append(change)
        # A key that does not change is left out of an after image.
        taken = dict(change, after=change["after"] and {**change["after"]})
        if after is not None and "id" not in after and before is not None:
            taken["after"]["id"] = before["id"]
            taken["__absent_after"] = [n for n in change["__absent_after"] if n != "id"]
        self.replica.apply(taken)


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _absent(image: dict[str, Any] | None, diffs: Any) -> list[str] | None:
    if image is None:
        return None
    return [name for name in COLUMNS if name not in image and name not in diffs] or None


def _image(image: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if image is None else {name: image.get(name) for name in COLUMNS}


def frames(spark: SparkSession, log: Log) -> tuple[DataFrame, DataFrame]:
    """Return gold before the changes, and the changes."""
    rows = [(key, row["a"], row["b"], row["j"], 1, AT) for key, row in log.start.items()]
    changes = [tuple(change.values()) for change in log.changes]
    return spark.createDataFrame(rows, GOLD), spark.createDataFrame(changes, SILVER)


def applied(
    spark: SparkSession, log: Log, *, moves: bool, known: LeftOut | None = None
) -> dict[int, dict[str, Any]]:
    """Return gold's rows after applying the folded changes as MERGE does."""
    gold, changes = frames(spark, log)
    rows = {key: dict(row) for key, row in log.start.items()}
    folded = fold_partial(changes, SHAPE, gold, known or left_out(), lives=moves)
    for found in folded.collect():
        there = rows.pop(found["id"], None)
        if found[DELETE]:
            continue
        missing = set(found[MISSING])
        assert there is not None or not missing
        kept = there or {}
        rows[found["id"]] = {
            name: kept[name] if name in missing else found[name] for name in COLUMNS
        }
    return {key: {**row, "j": _parsed(row["j"])} for key, row in rows.items()}


def expected(log: Log) -> dict[int, dict[str, Any]]:
    return {key: {**row, "id": key} for key, row in log.replica.rows.items()}


ONE = {"id": 1, "a": 10, "b": "x", "j": '{"n": 1}'}
TWO = {"id": 2, "a": 20, "b": "y", "j": None}
FIVE = [{"id": key, "a": key, "b": f"b{key}", "j": '{"n": 0}'} for key in range(1, 6)]
REPLACE = [{"op": "replace", "path": "$.n", "value": 2}]
INSERT = [{"op": "insert", "path": "$.m", "value": [1.5]}]
Step = tuple[Any, ...]
Outcomes = dict[str, tuple[dict[int, dict[str, Any]], ...]]
"""The actual and the expected rows by case."""
CASES: dict[str, list[Step]] = {
    "an update keeps what it leaves out": [("update", {"id": 1}, {"a": 11})],
    "updates of several columns": [
        ("update", {"id": 1}, {"a": 11}),
        ("update", {"id": 1}, {"b": None}),
        ("update", {"id": 1}, {"a": 12}),
    ],
    "the before image has values too": [("update", ONE, {"a": 11})],
    "an insert that leaves out columns has their defaults": [("insert", None, {"id": 3, "b": "z"})],
    "nothing of a deleted row comes back": [
        ("update", {"id": 1}, {"b": "old"}),
        ("delete", {"id": 1}, None),
        ("insert", None, {"id": 1}),
        ("update", {"id": 1}, {"a": 5}),
    ],
    "a row that moves takes its values along": [
        ("update", {"id": 1}, {"a": 11}),
        ("update", {"id": 1}, {"id": 5}),
        ("update", {"id": 5}, {"b": "moved"}),
    ],
    "a key that is left and taken by another row": [
        ("update", {"id": 1}, {"id": 5}),
        ("update", {"id": 2}, {"id": 1, "b": "two"}),
        ("update", {"id": 1}, {"a": 21}),
    ],
    "a swap over a third key": [
        ("update", {"id": 1}, {"id": 9}),
        ("update", {"id": 2}, {"id": 1}),
        ("update", {"id": 9}, {"id": 2}),
        ("update", {"id": 2}, {"a": 0}),
    ],
    "there and back": [
        ("update", {"id": 1}, {"id": 9, "a": 1}),
        ("update", {"id": 9}, {"id": 1, "b": "back"}),
    ],
    "a row that is inserted, moves, and goes": [
        ("insert", None, {"id": 3}),
        ("update", {"id": 3}, {"id": 4}),
        ("delete", {"id": 4}, None),
        ("insert", None, {"id": 3, "a": 1}),
    ],
    "moved onto a key that was deleted": [
        ("delete", {"id": 2}, None),
        ("update", {"id": 1}, {"id": 2}),
    ],
    "diffs of gold's document": [
        ("update", {"id": 1}, {"id": 1}, {"j": REPLACE}),
        ("update", {"id": 1}, {"a": 3}, {"j": INSERT}),
    ],
    "diffs of a document that is in the before image": [
        ("update", ONE, {"id": 1, "a": 10, "b": "x"}, {"j": REPLACE})
    ],
    "diffs of a document of the batch": [
        ("update", {"id": 2}, {"j": '{"n": 5}'}),
        ("update", {"id": 2}, {}, {"j": INSERT}),
        ("update", {"id": 2}, {}, {"j": REPLACE}),
    ],
    "a whole document after diffs": [
        ("update", {"id": 1}, {}, {"j": REPLACE}),
        ("update", {"id": 1}, {"j": "[]"}),
    ],
    "diffs before and after a move": [
        ("update", {"id": 1}, {}, {"j": REPLACE}),
        ("update", {"id": 1}, {"id": 8}, {"j": INSERT}),
        ("update", {"id": 8}, {}, {"j": [{"op": "remove", "path": "$.n"}]}),
    ],
}
RANDOM = ["random changes", "others", "and others"]


def _moves(step: Step) -> bool:
    op, before, after, *_ = step
    return op == "update" and bool(after.get("id", before["id"]) != before["id"])


NAMES = {
    True: [*CASES, *RANDOM],
    False: [name for name, steps in CASES.items() if not any(map(_moves, steps))],
}
"""The cases in which rows may move, and those in which none does."""


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession) -> dict[bool, Outcomes]:
    """Run the cases in which rows may move, and those in which none does."""
    return {may_move: outcomes_of(spark, may_move=may_move) for may_move in NAMES}


def outcomes_of(spark: SparkSession, *, may_move: bool) -> Outcomes:
    """Run all cases of NAMES at once, at separate keys."""
    names = NAMES[may_move]
    log = Log(
        {
            100 * number + row["id"]: {**row, "id": 100 * number + row["id"]}
            for number, name in enumerate(names)
            for row in (FIVE if name in RANDOM else (ONE, TWO))
        }
    )
    for number, name in enumerate(names):
        if name in RANDOM:
            add_random(log, number)
        for op, before, after, *diffs in CASES.get(name, ()):
            log.add(op, _at(number, before), _at(number, after), *diffs)
    found, wanted = applied(spark, log, moves=may_move), expected(log)
    return {
        name: tuple(
            {key: row for key, row in rows.items() if key // 100 == number}
            for rows in (found, wanted)
        )
        for number, name in enumerate(names)
    }


def _at(number: int, image: dict[str, Any] | None) -> dict[str, Any] | None:
    if image is None or "id" not in image:
        return image
    return {**image, "id": 100 * number + image["id"]}


@pytest.mark.parametrize(
    ("may_move", "case"),
    [
        pytest.param(may_move, name, id=f"{name}{'' if may_move else ' (no row moves)'}")
        for may_move, names in NAMES.items()
        for name in names
    ],
)
def test_changes_fold_to_the_expected_rows(
    outcomes: dict[bool, Outcomes], may_move: bool, case: str
) -> None:
    found, wanted = outcomes[may_move][case]
    assert found == wanted


def add_random(log: Log, number: int) -> None:
    """Add changes of all kinds over a few keys, with random columns in their images."""
    chance = random.Random(number)
    for _ in range(120):
        rows = {key: row for key, row in log.replica.rows.items() if key // 100 == number}
        free = [100 * number + n for n in range(1, 10) if 100 * number + n not in rows]
        values = {"a": chance.randrange(100), "b": chance.choice(["x", None, "y"])}
        if not rows or (free and chance.random() < 0.15):
            log.add("insert", None, {"id": chance.choice(free), **_some(chance, values)})
            continue
        key = chance.choice(sorted(rows))
        row = rows[key]
        whole = {**row, "id": key, "j": None if row["j"] is None else json.dumps(row["j"])}
        before = {**_some(chance, whole), "id": key}
        if chance.random() < 0.15:
            log.add("delete", before, None)
            continue
        after = _some(chance, values)
        if free and chance.random() < 0.3:
            after["id"] = chance.choice(free)
        diffs = None
        if isinstance(row["j"], dict) and chance.random() < 0.5:
            n = row["j"].get("n")
            op = "insert" if n is None else chance.choice(["replace", "remove"])
            value = {} if op == "remove" else {"value": chance.randrange(1000)}
            diffs = {"j": [{"op": op, "path": "$.n", **value}]}
        elif chance.random() < 0.3:
            after["j"] = json.dumps({"n": chance.randrange(1000)})
        log.add("update", before, after, diffs)


def _some(chance: random.Random, values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if chance.random() < 0.5}


def test_rows_missing_in_gold_are_not_made_up(spark: SparkSession) -> None:
    """But a row that moves still removes the row at its new key."""
    log = Log({1: ONE, 2: TWO, 5: {**ONE, "id": 5}})
    for key in (3, 9):
        log.replica.rows[key] = {"id": key, "a": 0, "b": "", "j": {}}
    log.add("update", {"id": 3}, {"id": 4})
    log.add("delete", {"id": 5}, None)
    log.add("update", {"id": 9}, {"id": 5, "a": 3})
    rows = {1: {**ONE, "j": {"n": 1}}, 2: {**TWO, "j": None}}
    assert applied(spark, log, moves=True) == rows


def test_an_insert_with_unknown_values_adds_no_row_and_no_earlier_value(
    spark: SparkSession,
) -> None:
    log = Log({1: ONE, 2: TWO, 3: {**ONE, "id": 3}, 4: {**ONE, "id": 4}})
    whole = {"a": 1, "b": "whole", "j": None}
    log.add("delete", {"id": 1}, None)
    log.add("insert", None, {"id": 1, "a": 1})
    log.add("update", {"id": 1}, {"a": 2})
    log.add("update", {"id": 2}, {"id": 5, "a": 21})
    log.add("insert", None, {"id": 2, "a": 1})
    log.add("insert", None, {"id": 6, "b": "said", "a": 1})
    log.add("update", {"id": 6}, {"id": 7})
    log.add("delete", {"id": 3}, None)
    log.add("insert", None, {"id": 8, "a": 1})
    log.add("update", {"id": 8}, {"id": 3})
    log.add("delete", {"id": 4}, None)
    log.add("insert", None, {"id": 4, "a": 1})
    log.add("update", {"id": 4}, {"id": 10})
    log.add("update", {"id": 10}, {"id": 4, **whole})
    known = LeftOut(frozenset({"j"}), {"j": sf.lit(None).cast("string")}, lenient=True)
    assert applied(spark, log, moves=True, known=known) == {
        4: {"id": 4, **whole},
        5: {"id": 5, "a": 21, "b": "y", "j": None},
        7: {"id": 7, "a": 1, "b": "said", "j": None},
    }


def test_an_insert_without_its_key_gets_the_keys_default(spark: SparkSession) -> None:
    log = Log({1: ONE})
    log.add("insert", None, {"id": 5, "a": 1, "b": "", "j": None})
    del log.changes[0]["after"]["id"]
    log.changes[0]["after"]["id"] = None
    log.changes[0]["__absent_after"] = ["id"]
    log.add("update", {"id": 5}, {"a": 2})
    known = LeftOut(frozenset({"j"}), {"id": sf.lit(5)})
    assert applied(spark, log, moves=False, known=known) == expected(log)


def test_a_row_that_moves_often_takes_few_spark_jobs(spark: SparkSession) -> None:
    """Like a table of tickets, where each REPLACE moves the only row to a new number."""
    log = Log({1: ONE})
    for key in range(1, 100):
        log.add("update", {"id": key}, {"id": key + 1, "a": key} if key % 2 else {"id": key + 1})
    context = spark.sparkContext
    context.setJobGroup("often", "moves")
    try:
        found = applied(spark, log, moves=True)
        jobs = len(context.statusTracker().getJobIdsForGroup("often"))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert found == expected(log)
    assert jobs < 60


@pytest.mark.parametrize("lenient", [False, True])
def test_diffs_that_do_not_fit_are_reported_or_skipped(
    spark: SparkSession, *, lenient: bool
) -> None:
    log = Log({1: {**ONE, "j": '{"m": 1}'}, 2: {**ONE, "id": 2}, 3: {**ONE, "id": 3, "j": None}})
    for key in (2, 3, 1):
        log.replica.rows[key]["j"] = {"n": 1}
        log.add("update", {"id": key}, {}, {"j": REPLACE})
    log.add("update", {"id": 2}, {"id": 4}, {"j": [{"op": "remove", "path": "$.n"}]})
    known = LeftOut(frozenset({"j"}), left_out().defaults, lenient=lenient)
    if lenient:
        rows = {key: row["j"] for key, row in applied(spark, log, moves=True, known=known).items()}
        assert rows == {1: {"m": 1}, 3: None, 4: {}}
        return
    with pytest.raises(PythonException, match="JsonDiffError"):
        applied(spark, log, moves=True, known=known)
    gold, changes = frames(spark, log)
    found = misfits(changes, SHAPE, gold, known, lives=True).collect()
    assert sorted((row["lsn"], row["reason"]) for row in found) == [
        (1000, "the document has nothing at $.n"),
        (1000, "there is no document"),
    ]
