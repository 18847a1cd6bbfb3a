"""Tables reported because their seed did not make them complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.gold import GoldState
from pipeline.gold.table.incomplete import incomplete_after_seed
from pipeline.gold.table.state import TableState
from pipeline.lake import Lake
from pipeline.schema_history.timeline.seed_items import CASCADES
from pipeline.silver.plan.stored_seeds import Seed, new_id, put_seed, refuse_seed
from pipeline.silver.plan.take_seeds import SEED_NOT_NEEDED

PLACE = "binlog.000001", 4


def seeded(lake: Lake, table: str, refused: str | None = None) -> str:
    seed = Seed("", "shop", table, "CREATE", PLACE, PLACE, exact=True, rows=1)
    one = Seed.from_json(seed.to_json().replace('"id": ""', f'"id": "{new_id(seed.name)}"'))
    put_seed(lake, "live", one)
    if refused is not None:
        refuse_seed(lake, "live", one.id, refused)
    return one.id


def sentences(lake: Lake, *tables: TableState) -> list[str]:
    state = GoldState(tables={table.name: table for table in tables})
    return list(incomplete_after_seed(lake, "live", state, lambda _, table: table != "left_out"))


@pytest.mark.parametrize("in_gold", [True, False])
def test_a_refused_seed_is_reported_until_it_is_replaced(tmp_path: Path, in_gold: bool) -> None:
    lake = Lake(str(tmp_path))
    tables = [TableState("shop", "item")] if in_gold else []
    assert sentences(lake, *tables) == []
    seeded(lake, "item", "a statement has changed the table since: ALTER")
    (found,) = sentences(lake, *tables)
    assert "shop.item cannot be used: a statement has changed" in found
    assert "binlake seed --table shop.item" in found
    # complete by other means, not replicated, or seeded again since
    assert sentences(lake, TableState("shop", "item", complete=True)) == []
    seeded(lake, "left_out", "as it is")
    seeded(lake, "item")
    assert sentences(lake, *tables) == []


def test_a_needless_seed_is_not_reported(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    seeded(lake, "item", SEED_NOT_NEEDED)
    assert sentences(lake, TableState("shop", "item")) == []


def test_a_table_left_incomplete_by_its_seed_is_reported(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    child = TableState("shop", "child", seed=seeded(lake, "child"), reason=CASCADES)
    (found,) = sentences(lake, child)
    assert found == f"shop.child is incomplete although it has an initial snapshot: {CASCADES}"
    # already reported as held or dropped
    held = TableState("shop", "held", seed="s", held="f, position 4: bad bytes")
    assert sentences(lake, held, TableState("shop", "gone", seed="s", dropped=True)) == []
