"""References to a lake's tables in SQL."""

from __future__ import annotations

from pipeline.lake.sql_text import in_sql


def test_a_path_is_a_delta_table_and_a_name_stays_one() -> None:
    assert in_sql("/lake/a`b") == "delta.`/lake/a``b`"
    assert in_sql("`main`.`shop`.`orders`") == "`main`.`shop`.`orders`"
