"""Foreign keys over time, after CREATE, ALTER and RENAME TABLE."""

from __future__ import annotations

import pytest

from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions

MYSQL_9, MYSQL_8 = {"server_version": 90700}, {"server_version": 80400}
MARIADB = {"server_version": 101100, "mariadb": True}
OLD_MARIADB = {"server_version": 100400, "mariadb": True}
PARENT = "CREATE TABLE p (id int PRIMARY KEY, u int UNIQUE)"
CHILD = "CREATE TABLE c (id int PRIMARY KEY, x int, {})"
KEY = "FOREIGN KEY (x) REFERENCES p (id) ON DELETE CASCADE"


def history(*statements: str, **server: object) -> Timeline:
    timeline = Timeline((), TimelineOptions())
    for number, text in enumerate(statements, 1):
        fields = {"ddl_xid": 1, **MYSQL_9, **server}
        timeline.statement(LoggedStatement(10 * number, 10 * number + 1, text, "s", **fields))
    return timeline


def keys(timeline: Timeline, table: str = "c") -> list[str]:
    """Describe a table's foreign keys after its last item, read back from JSON."""
    models = [
        TimelineItem.from_dict(item.to_dict()).model
        for item in timeline.new
        if item.name == TableName("s", table) and item.model
    ]
    return [_words(key) for key in models[-1].foreign_keys] if models and models[-1] else []


def _words(key: ForeignKey) -> str:
    parent = ".".join(key.parent)
    actions = [f"{event} {action}" for event, action in _actions(key) if action]
    columns, parents = ",".join(key.columns), ",".join(key.parent_columns)
    return " ".join([f"{key.name}: {columns} -> {parent}({parents})", *actions])


def _actions(key: ForeignKey) -> list[tuple[str, str]]:
    return [("delete", key.on_delete), ("update", key.on_update)]


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (KEY, "c_ibfk_1: x -> s.p(id) delete CASCADE"),
        ("CONSTRAINT f FOREIGN KEY i (x) REFERENCES p (id)", "f: x -> s.p(id)"),
        ("CONSTRAINT FOREIGN KEY (x) REFERENCES o.p (id)", "c_ibfk_1: x -> o.p(id)"),
        (
            "FOREIGN KEY (x, id) REFERENCES p(u, id) MATCH FULL ON UPDATE SET NULL",
            "c_ibfk_1: x,id -> s.p(u,id) update SET NULL",
        ),
        ("FOREIGN KEY (x) REFERENCES p (id) ON DELETE SET DEFAULT", "c_ibfk_1: x -> s.p(id)"),
    ],
)
def test_a_table_is_created_with_its_foreign_keys(element: str, expected: str) -> None:
    assert keys(history(PARENT, CHILD.format(element))) == [expected]


INLINE = "CREATE TABLE c (x int REFERENCES p (id) ON DELETE CASCADE, y int REFERENCES p)"


@pytest.mark.parametrize(
    ("server", "known"), [(MYSQL_9, True), (MYSQL_8, False), (MARIADB, True), (OLD_MARIADB, False)]
)
def test_references_in_a_column_declaration_are_kept_by_version(
    server: dict[str, object], known: bool
) -> None:
    expected = ["c_ibfk_1: x -> s.p(id) delete CASCADE", "c_ibfk_2: y -> s.p()"]
    assert keys(history(PARENT, INLINE, **server)) == (expected if known else [])


def test_other_engines_have_no_foreign_keys() -> None:
    create = CHILD.format(KEY) + " ENGINE=MyISAM"
    assert keys(history(create, f"ALTER TABLE c ADD {KEY}, ADD y int")) == []


@pytest.mark.parametrize(
    ("statements", "known"),
    [
        ([f"ALTER TABLE c ENGINE=InnoDB, ADD {KEY}"], True),
        (["ALTER TABLE c ENGINE innodb", f"ALTER TABLE c ADD {KEY}"], True),
        (["ALTER TABLE c ENGINE=Aria", f"ALTER TABLE c ADD {KEY}"], False),
    ],
)
def test_a_table_converted_to_innodb_may_have_foreign_keys(
    statements: list[str], *, known: bool
) -> None:
    timeline = history(CHILD.format("KEY (x)") + " ENGINE=MyISAM", *statements)
    assert keys(timeline) == (["c_ibfk_1: x -> s.p(id) delete CASCADE"] if known else [])


def test_naming_the_current_engine_changes_nothing() -> None:
    timeline = history(CHILD.format(KEY), "ALTER TABLE c ENGINE=InnoDB")
    assert [item.kind for item in timeline.new] == ["create"]


def test_an_unknown_foreign_key_without_cascades_may_be_dropped() -> None:
    plain = CHILD.format("FOREIGN KEY (x) REFERENCES p (id)")
    timeline = history(plain, "ALTER TABLE c DROP FOREIGN KEY `1`")
    assert not [item for item in timeline.new if item.kind == "unsupported"]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (
            [f"ALTER TABLE c ADD {KEY}"],
            ["c_ibfk_1: x -> s.p(id) delete CASCADE", "c_ibfk_2: x -> s.p(id) delete CASCADE"],
        ),
        (["ALTER TABLE c DROP FOREIGN KEY C_IBFK_1"], []),
        (["ALTER TABLE c DROP CONSTRAINT c_ibfk_1"], []),
        (["ALTER TABLE c DROP FOREIGN KEY IF EXISTS other"], ["same"]),
        (
            [f"ALTER TABLE c DROP FOREIGN KEY c_ibfk_1, ADD {KEY}"],
            ["c_ibfk_2: x -> s.p(id) delete CASCADE"],
        ),
        (["ALTER TABLE c RENAME COLUMN x TO z"], ["c_ibfk_1: z -> s.p(id) delete CASCADE"]),
        (
            ["ALTER TABLE p CHANGE ID number int"],
            ["c_ibfk_1: x -> s.p(number) delete CASCADE"],
        ),
        (["RENAME TABLE p TO q"], ["c_ibfk_1: x -> s.q(id) delete CASCADE"]),
        (["ALTER TABLE p RENAME TO t.q"], ["c_ibfk_1: x -> t.q(id) delete CASCADE"]),
        (["DROP TABLE c", "CREATE TABLE c (x int)"], []),
        (["CREATE INDEX i ON c (x)", "ALTER TABLE c ADD y int"], ["same"]),
    ],
)
def test_foreign_keys_follow_changes_of_tables(statements: list[str], expected: list[str]) -> None:
    same = "c_ibfk_1: x -> s.p(id) delete CASCADE"
    timeline = history(PARENT, CHILD.format(KEY), *statements)
    assert keys(timeline) == [same if key == "same" else key for key in expected]
    assert not [item for item in timeline.new if item.kind == "unsupported"]


def test_a_renamed_child_keeps_its_keys_and_a_copy_has_none() -> None:
    rename = "RENAME TABLE c TO d, p TO q"
    timeline = history(PARENT, CHILD.format(KEY), "CREATE TABLE l LIKE c", rename)
    assert keys(timeline, "d") == ["d_ibfk_1: x -> s.q(id) delete CASCADE"]
    assert keys(timeline, "l") == []


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ([CHILD.format(KEY), "ALTER TABLE c DROP FOREIGN KEY other"], "other is dropped"),
        (["CREATE TABLE c LIKE unknown", f"ALTER TABLE c ADD {KEY}"], "whose CREATE TABLE is not"),
    ],
)
def test_an_unknown_foreign_key_holds_the_child(statements: list[str], reason: str) -> None:
    held = [i.reason or "" for i in history(*statements).new if i.kind == "unsupported"]
    assert [reason in message for message in held] == [True]
