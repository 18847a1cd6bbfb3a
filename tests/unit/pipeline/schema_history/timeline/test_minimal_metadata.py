"""The timeline under binlog_row_metadata=MINIMAL: names come from DDL, by position in the log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoder import TableDefinition
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.alter.items import TimelineItem, in_force
from pipeline.schema_history.ddl.charsets import collation_of
from pipeline.schema_history.ddl.schema_dump import DumpedStatement
from pipeline.schema_history.timeline.definitions_file import StartTable, TimelineStart
from pipeline.schema_history.timeline.timeline import LoggedStatement, Shown, TimelineOptions
from pipeline.silver.decode.table_names import TableNames
from pipeline.silver.plan.late_names import unnamed
from tests.unit.pipeline.schema_history.timeline.test_column_names import declared, shown
from tests.unit.pipeline.schema_history.timeline.test_timeline import AT, STRICT

T = "id INT PRIMARY KEY, a VARCHAR(9), b VARCHAR(9)"
CREATE = f"CREATE TABLE t ({T})"
SWAP = "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a"


def full(columns: str) -> TableDefinition:
    """Return a table map's definition in a log with full metadata."""
    known = declared(columns)
    bare = shown(known)
    columns_ = tuple(
        replace(c, collation=m.collation) for c, m in zip(known.columns, bare.columns, strict=True)
    )
    return replace(known, columns=columns_)


def start(*creates: str) -> TimelineStart:
    from pipeline.schema_history.ddl.ddl import StatementContext, effects
    from pipeline.schema_history.ddl.effects import CreateTable

    tables = []
    for create in creates:
        (effect,) = effects(create, StatementContext("s"))
        assert isinstance(effect, CreateTable)
        tables.append(StartTable(DumpedStatement(create, "s"), effect))
    return TimelineStart(tuple(tables))


class Log:
    """Statements and table maps at positions in steps of 10; `maps` are their definitions."""

    def __init__(self, *past: TimelineItem, begins: TimelineStart | None = None) -> None:
        self.timeline = Timeline(past, TimelineOptions())
        self.maps: list[tuple[tuple[int, int], TableDefinition, Shown]] = []
        if begins is not None:
            self.timeline.declare(LoggedStatement(5, 0, "", server_version=90700), begins)

    def run(self, *events: str | TableDefinition) -> Log:
        for lsn, event in enumerate(events, 1):
            position = 10 * lsn, 1
            if isinstance(event, str):
                fields = {"ddl_xid": 1, "executed_at": AT, "server_version": 90700}
                logged = LoggedStatement(*position, event, "s", sql_mode=STRICT, **fields)
                self.timeline.statement(logged)
            else:
                found = self.timeline.table_map(position, event)
                self.maps.append((position, event, found))
        return self

    @property
    def kinds(self) -> list[tuple[str, int | None]]:
        return [(item.kind, item.version) for item in self.new]

    @property
    def new(self) -> list[TimelineItem]:
        """The items, without those that only seeds use."""
        return [item for item in self.timeline.new if item.kind != "mentioned"]

    @property
    def names(self) -> list[list[str]]:
        return [[c.name for c in found.definition.columns] for _, _, found in self.maps]


BARE = shown(declared(T))


def test_identical_table_maps_have_names_by_position() -> None:
    log = Log().run(CREATE, BARE, SWAP, BARE, SWAP, BARE)
    assert log.names == [["id", "a", "b"], ["id", "b", "a"], ["id", "a", "b"]]
    assert [found.definition.key for _, _, found in log.maps] == [("id",)] * 3
    names = TableNames.of((at, map_, found.definition) for at, map_, found in log.maps)
    again = TableNames.from_dict(
        names.to_dict(), {f.definition.fingerprint(): f.definition for _, _, f in log.maps}
    )
    assert again == names
    for (lsn, pos), map_, found in log.maps:
        assert again(map_, lsn, pos) == found.definition
        assert again(map_, lsn + 5, pos) == found.definition
    assert again(BARE, 1, 1) == BARE, "nothing names it before its CREATE"


@pytest.mark.parametrize(
    ("events", "kinds"),
    [
        ((CREATE, BARE, BARE), [("create", 1), ("version", 1)]),
        (
            (CREATE, BARE, "ALTER TABLE t ADD n INT", shown(declared(f"{T}, n INT"))),
            [("create", 1), ("version", 1), ("add_columns", 2), ("version", 2)],
        ),
        # metadata was switched within the log
        ((full(T), BARE, full(T)), [("observed", 1)]),
        ((CREATE, BARE, full(T), BARE, full(T)), [("create", 1), ("version", 1)]),
        (
            (full(T), SWAP, BARE, full(T.replace("a", "x").replace("b", "a").replace("x", "b"))),
            [("observed", 1), ("alter", 2), ("version", 2)],
        ),
    ],
)
def test_items_equal_those_of_a_log_with_full_metadata(
    events: tuple[str | TableDefinition, ...], kinds: list[tuple[str, int | None]]
) -> None:
    assert Log().run(*events).kinds == kinds


def test_a_table_from_before_the_log_has_no_names_and_is_held() -> None:
    log = Log().run("ALTER TABLE t ADD n INT", BARE, BARE)
    assert log.kinds == [("unsupported", 1)]
    assert "definitions" in (log.new[0].reason or "")
    assert not log.maps[0][2].definition.named


def test_a_contradiction_holds_the_table_and_reports_both_shapes() -> None:
    log = Log().run(CREATE, shown(declared(T.replace("b VARCHAR", "b CHAR"))))
    assert [kind for kind, _ in log.kinds] == ["create", "unsupported"]
    reason = log.timeline.new[-1].reason or ""
    assert "column 3 is b VARCHAR(9) in its definition, but CHAR(9)" in reason


def test_conf_names_tables_from_before_the_log_which_are_observed_at_their_first_row() -> None:
    log = Log(begins=start(CREATE)).run(
        SWAP, "ALTER TABLE t ADD n INT", shown(declared(f"{T}, n INT"))
    )
    assert log.names == [["id", "b", "a", "n"]]
    assert [kind for kind, _ in log.kinds] == ["declared", "declared", "declared", "observed"]
    again = Log(*log.timeline.new).run(shown(declared(f"{T}, n INT")))
    assert again.names == log.names
    assert again.kinds == []


@pytest.mark.parametrize(
    ("statements", "kinds"),
    [
        (("DROP TABLE t",), [("declared", None)]),
        (("DROP DATABASE s",), [("declared", None)]),
        # known to be empty: complete from here on
        (("TRUNCATE t",), [("create", 1)]),
        (("RENAME TABLE t TO u",), [("declared", None), ("declared", 1)]),
        (
            (CREATE.replace("TABLE", "TABLE IF NOT EXISTS").replace("PRIMARY", "PRIMARY"),),
            [("create", 1)],
        ),
        (("ALTER TABLE t COMMENT 'x', ADD INDEX (a)",), []),
        (("ALTER TABLE t ADD UNIQUE u (a), DEFAULT CHARSET latin1",), [("declared", 1)]),
    ],
)
def test_ddl_on_a_table_that_only_conf_defines(
    statements: tuple[str, ...], kinds: list[tuple[str, int | None]]
) -> None:
    assert Log(begins=start(CREATE)).run(*statements).kinds[1:] == kinds


@pytest.mark.parametrize(
    ("alter", "key"),
    [
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)", ("id", "a")),
        ("DROP PRIMARY KEY", ()),
        ("ADD n INT", ("id",)),
    ],
)
def test_ddl_changes_the_key_of_a_table_that_only_conf_defines(
    alter: str, key: tuple[str, ...]
) -> None:
    columns = "id INT NOT NULL, a INT NOT NULL, b INT, PRIMARY KEY (id)"
    log = Log(begins=start(f"CREATE TABLE t ({columns})")).run(
        f"ALTER TABLE t {alter}", "TRUNCATE t"
    )
    definition = log.timeline.new[-1].definition
    assert definition is not None
    assert (log.timeline.new[-1].kind, definition.key) == ("create", key)


def test_a_table_whose_create_is_in_the_log_is_not_declared_again() -> None:
    log = Log().run(CREATE)
    log.timeline.declare(LoggedStatement(99, 0, ""), start("CREATE TABLE t (z INT)"))
    assert log.kinds == [("create", 1)]


@pytest.mark.parametrize(
    ("statements", "collation"),
    [
        (("CREATE DATABASE s",), "latin1"),
        (("CREATE DATABASE s CHARACTER SET = cp1251",), "cp1251"),
        (("CREATE DATABASE s", "ALTER DATABASE s COLLATE utf8mb4_bin"), "utf8mb4"),
        (("CREATE DATABASE s", "DROP DATABASE s", "CREATE DATABASE IF NOT EXISTS s"), "latin1"),
        # the schema may have existed before, with another charset
        (("CREATE DATABASE IF NOT EXISTS s CHARACTER SET cp1251",), None),
        (("CREATE DATABASE other",), None),
    ],
)
def test_text_without_a_charset_has_its_schema_s(
    statements: tuple[str, ...], collation: str | None
) -> None:
    timeline = Timeline((), TimelineOptions())
    for number, query in enumerate((*statements, "CREATE TABLE t (v VARCHAR(9))"), 1):
        logged = LoggedStatement(10 * number, 1, query, "s", server_charset="latin1")
        timeline.statement(logged)
    created = next(item for item in timeline.new if item.kind == "create")
    again = Timeline(timeline.new, TimelineOptions())
    assert created.definition is not None
    bare = shown(created.definition, None)
    found = again.table_map((99, 1), bare).definition
    assert found.named == (collation is not None)
    if collation is not None:
        assert found.columns[0].collation == collation_of(collation)


def test_a_table_can_be_rewound() -> None:
    log = Log().run("ALTER TABLE t ADD n INT", shown(declared(f"{T}, n INT")))
    assert unnamed(log.timeline.new) == {TableName("s", "t")}
    rewound = TimelineItem(0, 0, "s", "t", "rewound")
    late = Log(*log.timeline.new, rewound, begins=start(CREATE))
    late.run("ALTER TABLE t ADD n INT", shown(declared(f"{T}, n INT")))
    assert late.names == [["id", "a", "b", "n"]]
    # numbers of silver's tables are never reused
    assert late.kinds == [("declared", 2), ("declared", 3), ("observed", 3)]
    everything = [*log.timeline.new, rewound, *late.timeline.new]
    assert in_force(everything) == late.timeline.new
    assert unnamed(in_force(everything)) == set()


def test_defaults_from_conf_are_in_force_from_the_first_row_on() -> None:
    columns = "id INT PRIMARY KEY, a INT DEFAULT 7, b INT NOT NULL"
    begins = start(f"CREATE TABLE t ({columns})")
    log = Log(begins=begins).run("ALTER TABLE t ALTER a SET DEFAULT 8", shown(declared(columns)))
    observed = log.timeline.new[-1]
    assert observed.kind == "observed"
    assert observed.model is not None
    defaults = {default.name: default.text for default in observed.model.defaults}
    assert defaults == {"id": "0", "a": "8", "b": "0"}
