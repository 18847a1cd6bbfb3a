"""Steps of a seed before tables are read; notes about tables that gold holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.gold import GoldState
from pipeline.gold.table.state import TableState
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history import TableName
from pipeline.seed import job
from pipeline.seed.errors import DumpError
from pipeline.seed.job import held_in_gold
from pipeline.settings import Settings
from pipeline.source.server.errors import ServerError
from tests.support.spark.no_spark import NEVER_STARTED

ITEM, ENTRY = TableName("shop", "item"), TableName("shop", "entry")


def test_a_held_table_is_reported_with_its_reason_and_a_remedy() -> None:
    item = TableState("shop", "item", complete=True, held="a statement in the log")
    gold = GoldState(tables={ITEM: item, ENTRY: TableState("shop", "entry", complete=True)})
    (note,) = held_in_gold(gold, [ITEM, ENTRY])
    assert note.startswith("shop.item is held in gold")
    assert "--table" in note
    assert "a statement in the log" in note


@pytest.mark.parametrize(
    ("seed", "error"), [({}, ServerError), ({"dump": "{folder}/none.sql"}, DumpError)]
)
def test_kernels_are_not_compiled_if_the_server_or_the_dump_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: dict[str, str], error: type[Exception]
) -> None:
    monkeypatch.setattr(job, "warm_kernels", lambda *_: pytest.fail("compiled"))
    given: dict[str, Any] = {
        "server": {"url": "mysql://binlake@127.0.0.1:1"},
        "seed": {key: value.format(folder=tmp_path) for key, value in seed.items()},
    }
    settings = Settings.load(None, source="shop", lake=str(tmp_path / "lake"), **given)
    with pytest.raises(error):
        job.run(NEVER_STARTED, settings, QuietProgress())
