"""DEFAULTs that few changes with partial images are folded with, without Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from decoder import TypeOptions
from pipeline.gold.changes.steps import Rows
from pipeline.gold.schema.unlogged import defaults_here
from pipeline.schema_history import Timeline
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions

AT = datetime(2026, 1, 2, tzinfo=timezone.utc)
MYSQL, MARIADB = "3e11fa47-71ca-11e1-9e33-c80aa9429562:7", "0-1-7"


def part_of(columns: str, *, mariadb: bool = False) -> Rows:
    timeline = Timeline((), TimelineOptions())
    statement = f"CREATE TABLE t (id int PRIMARY KEY, {columns})"
    timeline.statement(LoggedStatement(1, 1, statement, "s", 1, executed_at=AT, mariadb=mariadb))
    item = timeline.new[-1]
    assert item.definition is not None
    return Rows(item.definition, 1, (1, 0), (99, 0), ("id",), True, item.model)


def found_in(part: Rows, gtid: str | None = MYSQL) -> dict[str, object] | None:
    found = defaults_here(part, TypeOptions(), pa.table({"__gtid": pa.array([gtid], pa.string())}))
    return found and {name: value.as_py() for name, value in found.items()}


def test_declared_defaults_have_their_columns_types() -> None:
    found = found_in(
        part_of(
            "a int DEFAULT 7, b varchar(9) DEFAULT 'x', c decimal(8, 2) NOT NULL DEFAULT 1.5,"
            " d date DEFAULT '2024-02-29', e varbinary(4) DEFAULT x'00ff', f int"
        )
    )
    assert found == {
        "id": 0,  # the implicit one
        "a": 7,
        "b": "x",
        "c": Decimal("1.50"),
        "d": date(2024, 2, 29),
        "e": b"\0\xff",
        "f": None,
    }


def test_unknown_defaults_are_left_out() -> None:
    found = found_in(part_of("a double DEFAULT (RAND()), b int"))
    assert found is not None
    assert "a" not in found
    assert "b" in found


def test_a_generated_column_that_images_leave_out_leaves_them_to_spark() -> None:
    assert found_in(part_of("a int, b int AS (a + 1)", mariadb=True), MARIADB) is None


@pytest.mark.parametrize(("gtid", "is_known"), [(MYSQL, True), (None, True), (MARIADB, False)])
def test_columns_without_ddl_may_be_generated_on_mariadb(gtid: str | None, is_known: bool) -> None:
    found = found_in(replace(part_of("a int"), model=None), gtid)
    assert found == ({} if is_known else None)
