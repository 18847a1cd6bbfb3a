"""The form of a timeline's items in the ledger and in plans, which lakes keep."""

from __future__ import annotations

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import ColumnStep, SeededFrom, TimelineItem
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.ddl.partitions import PartitionRows

DEFINITION = TableDefinition("s", "t", (ColumnDefinition("é", ColumnType.LONG),))
MODEL = TableModel(auto_increment="é")
ITEM = TimelineItem(
    1,
    2,
    "s",
    "t",
    "alter",
    version=3,
    definition=DEFINITION,
    defaults={"é": None},
    statement="ALTER TABLE t …",
    columns=(ColumnStep("é", "a", "cast"),),
    model=MODEL,
    other=TableName("s", "é"),
    rows=PartitionRows("é", "YEAR", ((None, 5),), null=True),
    seed=SeededFrom("s~t~1", 7, exact=True),
)
ROW = {
    "lsn": 1,
    "pos": 2,
    "schema": "s",
    "table": "t",
    "kind": "alter",
    "version": 3,
    "definition": DEFINITION.to_json(),
    "defaults": '{"\\u00e9": null}',
    "statement": "ALTER TABLE t …",
    "reason": None,
    "columns": (
        '[{"name": "\\u00e9", "old": "a", "convert": "cast", "text": null, "generated": null}]'
    ),
    "model": MODEL.to_json(),
    "other": '{"schema": "s", "table": "\\u00e9"}',
    "rows": '{"column": "\\u00e9", "function": "YEAR", "ranges": [[null, 5]], "null": true}',
    "seed": '{"id": "s~t~1", "lsn": 7, "exact": true}',
}


def test_an_item_is_a_row_with_json_texts() -> None:
    assert list(ITEM.to_dict().items()) == list(ROW.items())
    assert TimelineItem.from_dict({**ROW, "source": "x"}) == ITEM


def test_absent_fields_are_null() -> None:
    item = TimelineItem(1, 2, "s", "t", "drop")
    assert {name for name, value in item.to_dict().items() if value is not None} == {
        *("lsn", "pos", "schema", "table", "kind")
    }
    assert TimelineItem.from_dict(item.to_dict()) == item
