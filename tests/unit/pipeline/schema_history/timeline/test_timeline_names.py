"""Tables under other names: renamed, swapped, exchanged, spelled in another case, temporary."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from decoder import TableDefinition
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.ddl.partitions import PartitionRows
from tests.unit.pipeline.schema_history.timeline.test_timeline import CREATE, V2, Log, shown

SWAP = "RENAME TABLE t TO tmp, u TO t, tmp TO u"
OTHER = V2.replace("TABLE t", "TABLE u")


def test_tables_that_swap_names_swap_definitions() -> None:
    log = Log().run(CREATE, shown(), OTHER, SWAP)
    renamed = {(i.table, i.other and i.other.table) for i in log.new if i.kind == "renamed"}
    assert renamed == {("t", "u"), ("u", "t")}
    columns = {i.table: len(i.definition.columns) for i in log.new[-2:] if i.definition}
    assert columns == {"t": 3, "u": 2}
    seen = len(log.new)
    log.run(shown(V2), replace(shown(), table="u"))
    assert [item.kind for item in log.new[seen:]] == ["version", "version"]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((CREATE, "RENAME TABLE t TO u"), [("t", "create"), ("t", "moved"), ("u", "renamed")]),
        ((CREATE, "ALTER TABLE t RENAME u"), [("t", "create"), ("t", "moved"), ("u", "renamed")]),
        (
            (CREATE, "ALTER TABLE t DROP v, RENAME u"),
            [("t", "create"), ("t", "alter"), ("t", "keys"), ("t", "moved"), ("u", "renamed"),
             ("u", "keys")],
        ),
        # a held table stays held under its new name
        (
            (CREATE, "ALTER TABLE t MODIFY v json, RENAME u"),
            [("t", "create"), ("t", "unsupported"), ("t", "moved"), ("u", "unsupported")],
        ),
        # rows of excluded tables are not replicated
        ((CREATE, "RENAME TABLE t TO out1"), [("t", "create"), ("t", "moved")]),
        (
            (CREATE, "RENAME TABLE t TO out1, out2 TO t"),
            [("t", "create"), ("t", "unsupported")],
        ),
        (("RENAME TABLE out1 TO t", shown()), [("t", "observed")]),
        # an empty table without a definition takes another's name, whose rows are kept
        (
            (CREATE, "CREATE TABLE n LIKE out1", "RENAME TABLE t TO u, n TO t"),
            [("t", "create"), ("n", "create"), ("n", "moved"), ("u", "renamed"),
             ("t", "moved"), ("t", "create")],
        ),
    ],
)  # fmt: skip
def test_renamed_tables(
    events: tuple[str | TableDefinition, ...], expected: list[tuple[str, str]]
) -> None:
    log = Log(wanted=lambda _schema, table: not table.startswith("out")).run(*events)
    assert [(item.table, item.kind) for item in log.new] == expected


RANGED = (
    "CREATE TABLE t (id int PRIMARY KEY, v varchar(10)) PARTITION BY RANGE (id)"
    " (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))"
)


def test_rows_are_removed_with_their_partitions() -> None:
    again = Log().run(RANGED, shown(), "ALTER TABLE t DROP PARTITION p0")
    assert [item.kind for item in again.new[2:]] == ["model", "truncate_partitions"]
    assert again.new[3].rows == PartitionRows("id", "", ((None, 10),), null=True)
    stored = [TimelineItem.from_dict(item.to_dict()) for item in again.new]
    assert stored == again.new
    later = Log(*stored).run("ALTER TABLE t TRUNCATE PARTITION ALL", "RENAME TABLE t TO u")
    assert later.new[0].rows == PartitionRows("id", "", ((None, 20),), null=True)
    assert later.new[-1].model == again.new[2].model


@pytest.mark.parametrize(
    ("before", "alter"),
    [
        (CREATE, "TRUNCATE PARTITION p0"),
        (RANGED, "TRUNCATE PARTITION nosuch"),
        (RANGED, "IMPORT TABLESPACE"),
        (RANGED, "EXCHANGE PARTITION p0 WITH TABLE u"),
        ("CREATE TABLE t LIKE u", "IMPORT TABLESPACE"),
    ],
)
def test_unlogged_changes_of_rows_keep_the_definition(before: str, alter: str) -> None:
    log = Log().run(before, f"ALTER TABLE t {alter}", "ALTER TABLE t ADD n int DEFAULT 3")
    kinds = [item.kind for item in log.new[1:]]
    assert kinds == ["rows_not_logged", *(["add_columns"] if "LIKE" not in before else [])]
    assert "replace it with a copy" in (log.new[1].reason or "")
    moved = Log(*log.new).run("RENAME TABLE t TO x")
    assert [item.kind for item in moved.new] == ["moved", "unsupported"]
    emptied = Log(*log.new).run("TRUNCATE t", "RENAME TABLE t TO x")
    assert emptied.new[-1].kind == ("renamed" if "LIKE" not in before else "create")


def test_a_copy_of_a_table_that_is_not_replicated_is_not_replicated() -> None:
    log = Log().run("CREATE TABLE t (id int) ENGINE = BLACKHOLE", "CREATE TABLE u LIKE t")
    assert [item.kind for item in log.new] == ["unsupported", "unsupported"]
    again = Log(*[TimelineItem.from_dict(item.to_dict()) for item in log.new])
    again.run("RENAME TABLE u TO v", "CREATE TABLE w LIKE v")
    assert [(i.table, i.kind) for i in again.new][1:] == [
        ("v", "unsupported"),
        ("w", "unsupported"),
    ]
    held = Log().run(CREATE, "ALTER TABLE t MODIFY v json", "CREATE TABLE u LIKE t")
    assert held.new[-1].kind == "create"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (1, [("create", "t"), ("add_columns", "t"), ("moved", "t"), ("renamed", "u")]),
        (0, [("create", "t")]),
        (None, [("create", "t"), ("unsupported", "t")]),
    ],
)
def test_names_are_compared_as_the_server_does(
    names: Literal[0, 1] | None, expected: list[tuple[str, str]]
) -> None:
    log = Log(lower_case_table_names=names).run(CREATE, "ALTER TABLE S.T ADD n int")
    if names == 1:
        log.run("RENAME TABLE T TO U")
    assert [(item.kind, item.table) for item in log.new] == expected


def test_dropping_a_schema_in_another_case_holds_its_tables() -> None:
    for names, kinds in ((None, ["create", "unsupported"]), (0, ["create"])):
        log = Log(lower_case_table_names=names).run(CREATE, "DROP DATABASE S")
        assert [item.kind for item in log.new] == kinds


def test_tables_whose_names_differ_in_case_are_separate() -> None:
    log = Log().run(CREATE, CREATE.replace("TABLE t", "TABLE T"), "TRUNCATE T", "DROP TABLE T")
    log.run("DROP TABLE IF EXISTS T", ddl_xid=None)
    assert [(i.kind, i.table) for i in log.new[2:]] == [("truncate", "T"), ("drop", "T")]


def test_a_truncated_table_is_empty() -> None:
    log = Log().run(CREATE, shown(), "TRUNCATE t", shown())
    assert [kind for kind, _ in log.kinds] == ["create", "version", "truncate"]


@pytest.mark.parametrize(
    ("mariadb", "expected"),
    [
        (True, ["create", "temporary", "unsupported", "temporary"]),
        (False, ["create", "moved", "renamed"]),
    ],
)
def test_a_rename_that_may_be_of_a_temporary_table_holds(
    mariadb: bool, expected: list[str]
) -> None:
    log = Log().run(CREATE).run("CREATE TEMPORARY TABLE t (a int)", mariadb=mariadb, temporary=True)
    log.run("RENAME TABLE t TO u", mariadb=mariadb)
    assert [item.kind for item in log.new] == expected
    again = Log(*[TimelineItem.from_dict(item.to_dict()) for item in log.new])
    again.run("RENAME TABLE u TO v", mariadb=mariadb)
    assert [item.kind for item in again.new] == (["temporary"] if mariadb else ["moved", "renamed"])


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("ALTER TABLE t ADD n int DEFAULT 5", []),
        ("TRUNCATE t", []),
        ("CREATE TABLE u LIKE t", [("u", "create", None)]),
        ("CREATE TABLE u (a int PRIMARY KEY)", [("u", "create", 1)]),
        ("DROP TABLE `t` /* generated by server */", [("t", "drop", None)]),
        ("DROP TABLE t", [("t", "unsupported", None)]),
        (CREATE.replace("TABLE", "OR REPLACE TABLE"), [("t", "drop", None), ("t", "create", 1)]),
    ],
)
def test_a_temporary_table_hides_the_permanent_one(
    query: str, items: list[tuple[str, str, int | None]]
) -> None:
    log = Log().run(CREATE, shown())
    known = len(log.new)
    log.run(query, temporary=True)
    assert [(item.table, item.kind, item.version) for item in log.new[known:]] == items


@pytest.mark.parametrize(
    "query", ["ALTER TABLE t ADD n int, RENAME u", "CREATE OR REPLACE TABLE t (id int PRIMARY KEY)"]
)
def test_changes_by_one_statement_have_increasing_positions(query: str) -> None:
    log = Log().run(CREATE)
    log.run(query)
    places = [item.position for item in log.new if item.table == "t"]
    assert len(set(places)) == len(places) == 3
    assert places == sorted(places)
