"""The manifests of a lake's seeds, and which seed of a table is used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.schema_history import TableName
from pipeline.silver.plan.stored_seeds import (
    MANIFEST,
    Seed,
    SeedUnreadableError,
    ids_of,
    new_id,
    newest,
    put_seed,
    read_seed,
    refuse_seed,
    seed_ids,
)

ITEM, ODD = TableName("shop", "item"), TableName("shop", "~a/b.~c")
CREATE = "CREATE TABLE item (id INT PRIMARY KEY)"
TYPES = {"time": "duration", "zero_dates": "null"}


def seed_of(name: TableName, number: int = 1) -> Seed:
    made = new_id(name)
    at = f"{made.rpartition('~')[0]}~2026{number:04d}-x"
    return Seed(
        at, name.schema, name.table, CREATE, ("b.000001", 4), ("b.000002", 99), False, 7, "9.7.0",
        types=TYPES,
    )  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def test_a_manifest_is_read_back(lake: Lake) -> None:
    for name in (ITEM, ODD):
        seed = seed_of(name)
        put_seed(lake, "live", seed)
        assert read_seed(lake, "live", seed.id) == seed
    assert ids_of(lake, "live", ODD) == [seed_of(ODD).id]
    assert seed_ids(lake, "other") == []


def test_ids_of_a_table_sort_by_time_and_are_unique_to_it(lake: Lake) -> None:
    first, second = new_id(ITEM), new_id(ITEM)
    assert first < second
    for one in (first, second, new_id(TableName("shop", "items"))):
        put_seed(lake, "live", replace(seed_of(ITEM), id=one))
    assert ids_of(lake, "live", ITEM) == [first, second]


def test_the_last_complete_seed_is_used_unless_already_taken(lake: Lake, tmp_path: Path) -> None:
    first, second, other = seed_of(ITEM, 1), seed_of(ITEM, 2), seed_of(ODD, 1)
    for seed in (first, second, other):
        put_seed(lake, "live", seed)
    incomplete = seed_of(ITEM, 3)
    (tmp_path / "silver" / "_seeds" / "live" / incomplete.id / "rows").mkdir(parents=True)
    assert list(newest(lake, "live", ())) == [other, second]
    assert list(newest(lake, "live", {first.id})) == [other, second]
    assert list(newest(lake, "live", {second.id, other.id})) == []
    # a refused seed is skipped, and earlier ones are not used instead
    refuse_seed(lake, "live", second.id, "it was altered")
    assert list(newest(lake, "live", ())) == [other]
    put_seed(lake, "live", seed_of(ITEM, 4))
    assert list(newest(lake, "live", ())) == [other, seed_of(ITEM, 4)]


def test_a_manifest_is_never_replaced(lake: Lake) -> None:
    seed = seed_of(ITEM)
    put_seed(lake, "live", seed)
    put_seed(lake, "live", replace(seed, rows=8, parts=("000000/b",)))
    assert read_seed(lake, "live", seed.id) == seed


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"format": 2}', '{"format": 1, "id": "x"}', "[]", '{"format": 1, "first": 1}'],
)
def test_an_unreadable_manifest_is_reported(lake: Lake, tmp_path: Path, text: str) -> None:
    seed = seed_of(ITEM)
    put_seed(lake, "live", seed)
    (tmp_path / "silver" / "_seeds" / "live" / seed.id / MANIFEST).write_text(text)
    with pytest.raises(SeedUnreadableError, match=MANIFEST):
        read_seed(lake, "live", seed.id)
