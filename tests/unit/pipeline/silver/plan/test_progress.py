"""The tables that a source owns while its full refresh fills the timeline again; without Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.errors import SettingsError
from pipeline.lake import Lake, Ledger
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from pipeline.silver.plan import progress
from pipeline.silver.plan.batch_plan import Refresh, RefreshStart, SilverPlan
from pipeline.silver.plan.progress import claimed, require_unclaimed
from tests.support.lake.memory_ledger import MemoryLedger

SHOP = Settings(source="shop")
ORDERS, PAYMENTS = TableName("shop", "orders"), TableName("shop", "payments")
FIRST = RefreshStart(
    "a", 0, (("shop", "orders", 1), ("shop", "payments", 1)), SHOP.decoding, (3, 900)
)
SECOND = replace(FIRST, settings_digest="b", tables=(("shop", "orders", 1),))
"""Started during the first one, when the timeline had only one table again."""
DECODED = SilverPlan((1, 0), (3, 900), 3 << 40, conf=SHOP.decoding)


def test_a_second_refresh_keeps_the_tables_emptied_by_the_first() -> None:
    refresh = Refresh(3, "b", under_way=True, upto=(3, 900))
    assert claimed(refresh, [FIRST, SECOND]) == {ORDERS, PAYMENTS}
    earlier = replace(FIRST, upto=(2, 0))
    assert claimed(refresh, [earlier, SECOND]) == {ORDERS}
    assert claimed(replace(refresh, under_way=False), [FIRST, SECOND]) == set()


def test_another_source_does_not_get_a_table_before_the_refresh_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop = MemoryLedger()
    settings = Settings(source="crm", lake="/lake")
    crm = LayerRun(None, settings, Ledger(None, Lake("/lake"), "crm"), QuietProgress())
    shop.did("silver", DECODED.to_body())
    monkeypatch.setattr(progress, "require_own_tables", lambda *_: None)
    monkeypatch.setattr(progress, "refreshes_by_others", lambda *_: {"shop": [FIRST]})
    monkeypatch.setattr(progress, "Ledger", lambda *_: shop)

    def require(name: TableName) -> None:
        require_unclaimed(crm, [name])

    require(PAYMENTS)
    plan = shop.propose("silver", replace(DECODED, begins=FIRST).to_body())
    for _ in range(2):
        with pytest.raises(SettingsError, match=r"shop\.payments is .* from source shop"):
            require(PAYMENTS)
        require(TableName("crm", "people"))
        shop.finish(plan, {})
    refresh = Refresh(plan.batch, "a", under_way=True, upto=(3, 900))
    shop.did("silver", replace(DECODED, end=(2, 0), refresh=refresh).to_body())
    with pytest.raises(SettingsError):
        require(PAYMENTS)
    shop.did("silver", replace(DECODED, refresh=replace(refresh, under_way=False)).to_body())
    require(PAYMENTS)
