from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from decoder import TableDefinition
from pipeline.schema_history import Timeline
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions

STRICT = 0x200000
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
CREATE = "CREATE TABLE t (id int PRIMARY KEY, v varchar(10))"


def declared_by(create: str) -> TableDefinition:
    (created,) = effects(create, StatementContext("s"))
    assert isinstance(created, CreateTable)
    return created.definition


def shown(create: str = CREATE, **changes: Any) -> TableDefinition:
    """Return a table map's definition: what DDL declares, plus the collations."""
    declared = declared_by(create)
    columns = tuple(
        replace(c, collation=46 if c.collation == 255 else c.collation) for c in declared.columns
    )
    return replace(declared, columns=columns, **changes)


class Log:
    """Statements and table maps at positions in steps of 10."""

    def __init__(self, *past: TimelineItem, **options: Any) -> None:
        self.timeline = Timeline(past, TimelineOptions(**options))
        self.lsn = 100 + 10 * len(past)

    def run(self, *events: str | TableDefinition, **statement: Any) -> Log:
        fields = {"ddl_xid": 1, "executed_at": AT, "server_version": 90700, **statement}
        for event in events:
            self.lsn += 10
            if isinstance(event, str):
                logged = LoggedStatement(self.lsn, self.lsn + 1, event, "s", **fields)
                self.timeline.statement(logged)
            else:
                self.timeline.table_map((self.lsn, self.lsn + 1), event)
        return self

    @property
    def new(self) -> list[TimelineItem]:
        """The items, without those that only seeds use."""
        return [item for item in self.timeline.new if item.kind != "mentioned"]

    @property
    def kinds(self) -> list[tuple[str, int | None]]:
        return [(item.kind, item.version) for item in self.new]


V2 = "CREATE TABLE t (id int PRIMARY KEY, v varchar(10), n int)"
KEYLESS = "CREATE TABLE t (a int NOT NULL, b int NOT NULL)"


def promoted(*key: str) -> TableDefinition:
    """Return a table map's definition of `KEYLESS` with a UNIQUE key of these columns."""
    bare = shown(KEYLESS)
    places = tuple([column.name for column in bare.columns].index(name) for name in key)
    return replace(bare, primary_key=places, primary_key_prefixes=(0,) * len(key))


def test_text_shown_by_a_table_map_keeps_its_charset() -> None:
    create = "CREATE TABLE t (id int PRIMARY KEY, a text)"
    before = shown(create)
    server = replace(before, columns=(before.columns[0], replace(before.columns[1], collation=255)))
    change = "ALTER TABLE t CHANGE a b text charset utf8mb4 NOT NULL"
    assert Log().run(create, server).run(change, sql_mode=STRICT).new[-2].kind == "alter"
    # not shown: 255 only means that its charset is unknown
    assert Log().run(create).run(change, sql_mode=STRICT).new[-1].kind == "unsupported"


def test_a_key_from_a_table_map_keeps_the_model_from_ddl() -> None:
    create = "CREATE TABLE t (a int NOT NULL, b int DEFAULT 5, UNIQUE KEY (a))"
    log = Log().run(create, replace(shown(create), primary_key=(0,), primary_key_prefixes=(0,)))
    declared, created = log.new
    assert (created.kind, created.model) == ("create", declared.model)
    assert created.model is not None


def test_a_created_table_is_in_the_timeline_before_any_row() -> None:
    log = Log().run(CREATE)
    assert log.kinds == [("create", 1)]
    assert log.new[0].definition == declared_by(CREATE)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # the declared definition is bound to the first table map, once
        ((CREATE, shown(), shown()), [("create", 1), ("version", 1)]),
        # a table from before the log
        ((shown(), shown()), [("observed", 1)]),
        ((CREATE, shown(), "DROP TABLE t"), [("create", 1), ("version", 1), ("drop", None)]),
        ((CREATE, "DROP DATABASE s"), [("create", 1), ("drop", None)]),
        # a layout that returns has its number again
        (
            (CREATE, shown(), "DROP TABLE t", CREATE, shown(), shown()),
            [("create", 1), ("version", 1), ("drop", None), ("create", 1), ("version", 1)],
        ),
        (
            (CREATE, shown(), "DROP TABLE t", V2, shown(V2), "DROP TABLE t", CREATE, shown()),
            [
                *(("create", 1), ("version", 1), ("drop", None)),
                *(("create", 2), ("version", 2), ("drop", None), ("create", 1), ("version", 1)),
            ],
        ),
        # the same columns in another charset are another layout
        (
            (
                *(CREATE, shown(), "DROP TABLE t", CREATE),
                replace(shown(), columns=tuple(
                    replace(c, collation=c.collation and 8) for c in shown().columns
                )),
            ),
            [("create", 1), ("version", 1), ("drop", None), ("create", 1), ("version", 2)],
        ),
        # visibility and nullability are not part of the layout
        (
            (CREATE, shown(), replace(shown(), columns=(
                shown().columns[0], replace(shown().columns[1], visible=False, nullable=False),
            ))),
            [("create", 1), ("version", 1)],
        ),
        # an added column has its version at once, known to gold before any row
        (
            (CREATE, shown(), "ALTER TABLE t ADD n int", shown(V2)),
            [("create", 1), ("version", 1), ("add_columns", 2), ("version", 2)],
        ),
        ((shown(), "ALTER TABLE t ADD n int"), [("observed", 1), ("add_columns", 2)]),
        # it was empty: the table map defines it
        ((CREATE, shown(V2)), [("create", 1), ("create", 2)]),
        # a table of its name has had rows: it is unknown whether this one is empty
        (
            (CREATE, shown(), "DROP TABLE t", CREATE, shown(V2)),
            [("create", 1), ("version", 1), ("drop", None), ("create", 1), ("unsupported", 2)],
        ),
        # a change without DDL, and one that contradicts DDL
        ((CREATE, shown(), shown(V2)), [("create", 1), ("version", 1), ("unsupported", 2)]),
        (
            (shown(), "ALTER TABLE t ADD n bigint", shown(V2)),
            [("observed", 1), ("add_columns", 2), ("unsupported", 3)],
        ),
        # a held table's rows are still stored, by layout, until it is created again
        (
            (
                *(CREATE, shown(), "ALTER TABLE t MODIFY v json", "ALTER TABLE t ADD n int"),
                *(shown("CREATE TABLE t (id int PRIMARY KEY)"), "DROP TABLE t", CREATE),
            ),
            [
                *(("create", 1), ("version", 1), ("unsupported", None), ("version", 2)),
                *(("drop", None), ("create", 1)),
            ],
        ),
        # an unknown table has nothing to hold
        (("ALTER TABLE t DROP COLUMN v", "DROP TABLE t", "TRUNCATE t"), []),
        # created like an unknown one: the first table map defines it
        (("CREATE TABLE t LIKE u", shown(), shown()), [("create", None), ("create", 1)]),
        (
            (CREATE, shown(), "DROP TABLE t", "CREATE TABLE t LIKE u", shown()),
            [("create", 1), ("version", 1), ("drop", None), ("create", None), ("create", 1)],
        ),
        ((CREATE, "CREATE TABLE u LIKE t"), [("create", 1), ("create", 1)]),
    ],
)  # fmt: skip
def test_items_and_versions(
    events: tuple[str | TableDefinition, ...], expected: list[tuple[str, int | None]]
) -> None:
    assert Log().run(*events).kinds == expected


@pytest.mark.parametrize(
    "events",
    [
        (CREATE, shown(), "ALTER TABLE t ADD n int", shown(V2), "DROP TABLE t", CREATE, shown()),
        (shown(), "RENAME TABLE t TO u", shown(V2), "DROP TABLE t", V2, shown(V2)),
        (CREATE, shown(), "ALTER TABLE t DROP v", "CREATE TABLE u LIKE t", "RENAME TABLE t TO x"),
        (KEYLESS, "CREATE UNIQUE INDEX i ON t (a)", promoted("a"), "DROP INDEX i ON t", KEYLESS),
        (CREATE, "ALTER TABLE t ADD n int DEFAULT 5", shown(V2), shown(V2), shown()),
        (shown(complete_metadata=False), shown(), shown(complete_metadata=False)),
        (CREATE, shown(), "DROP TABLE t", CREATE, shown(), shown(V2)),
    ],
)
def test_a_log_in_two_batches_gives_the_same_items_as_in_one(
    events: tuple[str | TableDefinition, ...],
) -> None:
    whole = Log().run(*events).new
    for split in range(len(events)):
        first = Log().run(*events[:split])
        stored = [TimelineItem.from_dict(item.to_dict()) for item in first.new]
        second = Log(*stored)
        second.lsn = first.lsn
        assert [*first.new, *second.run(*events[split:]).new] == whole


def test_added_columns_have_values_and_positions() -> None:
    add = "ALTER TABLE t ADD a int NOT NULL DEFAULT 7 FIRST, ADD b datetime DEFAULT now() AFTER ID"
    log = Log(system_time_zone="+02:00").run(shown(), add)
    item = log.new[-1]
    assert item.defaults == {"a": "7", "b": "2026-01-02 05:04:05"}
    assert item.definition is not None
    assert [c.name for c in item.definition.columns] == ["a", "id", "b", "v"]
    assert item.definition.primary_key == (1,)


def test_now_is_in_the_session_s_time_zone() -> None:
    log = Log().run(shown()).run("ALTER TABLE t ADD b datetime DEFAULT now()", time_zone="-01:00")
    assert log.new[-1].defaults == {"b": "2026-01-02 02:04:05"}


@pytest.mark.parametrize(
    ("add", "reason"),
    [
        ("ADD u varchar(36) DEFAULT (uuid())", "column u is added"),
        ("ADD g int AS (id + 1)", "a generated column"),
        ("ADD b int AFTER nosuch", "the table has no column nosuch"),
        ("ADD b timestamp", "explicit_defaults_for_timestamp is OFF"),
    ],
)
def test_a_column_whose_values_are_not_in_the_log_holds_the_table(add: str, reason: str) -> None:
    item = Log().run(shown(), f"ALTER TABLE t {add}", explicit_timestamps=False).new[-1]
    assert item.kind == "unsupported"
    assert reason in (item.reason or "")
    assert item.statement == f"ALTER TABLE t {add}"


IF_NOT_EXISTS = CREATE.replace("TABLE", "TABLE IF NOT EXISTS")


@pytest.mark.parametrize(
    ("before", "statement", "options", "created"),
    [
        # MySQL 8 and later log an XID only if the statement had an effect
        ((), {"ddl_xid": 5}, {}, True),
        ((), {"ddl_xid": None}, {"from_start": True}, False),
        # before that, the known state decides
        ((), {"ddl_xid": None, "server_version": 50744}, {}, False),
        ((), {"ddl_xid": None, "server_version": 50744}, {"from_start": True}, True),
        (("CREATE DATABASE s",), {"ddl_xid": None, "server_version": 50744}, {}, True),
        ((CREATE,), {"ddl_xid": None, "server_version": 50744}, {"from_start": True}, False),
        ((), {"ddl_xid": None, "server_version": 101100, "mariadb": True}, {}, False),
    ],
)
def test_if_not_exists_creates_only_missing_tables(
    before: tuple[str, ...], statement: dict[str, Any], options: dict[str, Any], created: bool
) -> None:
    log = Log(**options).run(*before)
    known = len(log.new)
    log.run(IF_NOT_EXISTS, **statement)
    assert [item.kind for item in log.new[known:]] == (["create"] if created else [])


def test_rows_without_names_in_the_log_hold_the_table_once() -> None:
    bare = shown(complete_metadata=False, named=False)
    log = Log().run(bare, bare)
    assert log.kinds == [("unsupported", 1)]
    assert "binlog_row_metadata" in (log.new[0].reason or "")


def test_excluded_tables_leave_no_items() -> None:
    log = Log(wanted=lambda _schema, table: table != "t").run(
        CREATE, "DROP TABLE t, u", "TRUNCATE t"
    )
    assert log.new == []


def test_a_statement_without_a_table_name_is_unreadable() -> None:
    log = Log()
    log.timeline.statement(LoggedStatement(1, 2, "DROP TABLE t", None))
    ((statement, reason),) = log.timeline.unreadable
    assert statement.query == "DROP TABLE t"
    assert "without a schema" in reason


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # the server logs a NOT NULL UNIQUE key as the primary one
        ((KEYLESS, promoted("a")), [("create", 1), ("create", 2)]),
        (
            (KEYLESS, shown(KEYLESS), "CREATE UNIQUE INDEX i ON t (b)", promoted("b")),
            [("create", 1), ("version", 1), ("keys", None), ("alter", 2)],
        ),
        (
            (promoted("a"), "ALTER TABLE t ADD UNIQUE (b), DROP KEY a", promoted("b")),
            [("observed", 1), ("keys", None), ("alter", 2)],
        ),
        (
            (
                promoted("a"), "ALTER TABLE t ADD c int, DROP KEY a",
                replace(shown(KEYLESS[:-1] + ", c int)"), primary_key=(1,),
                        primary_key_prefixes=(0,)),
            ),
            [("observed", 1), ("add_columns", 2), ("keys", None), ("alter", 3)],
        ),
        # the key stayed what it was
        (
            (promoted("a"), "ALTER TABLE t DROP KEY i", promoted("a"), promoted("b")),
            [("observed", 1), ("keys", None), ("version", 1), ("unsupported", 2)],
        ),
        # no statement explains it
        ((promoted("a"), promoted("b")), [("observed", 1), ("unsupported", 2)]),
    ],
)  # fmt: skip
def test_the_key_is_what_the_next_table_map_shows(
    events: tuple[str | TableDefinition, ...], expected: list[tuple[str, int | None]]
) -> None:
    assert Log().run(*events).kinds == expected


@pytest.mark.parametrize(
    ("alter", "kind"),
    [
        ("DROP v", "alter"),
        ("RENAME COLUMN v TO w", "alter"),
        ("MODIFY v varchar(10) FIRST", "alter"),
        ("MODIFY id bigint", "alter"),
        ("MODIFY v varchar(20)", "version"),
        ("MODIFY v text", "version"),
        ("CONVERT TO CHARACTER SET utf8mb4", "version"),
        ("ADD n int", "add_columns"),
        ("MODIFY v int", "alter"),
        ("ADD g int AS (id + 1) STORED", "alter"),
        ("MODIFY v json", "unsupported"),
        ("DROP nosuch", "unsupported"),
        ("MODIFY id int AUTO_INCREMENT", "unsupported"),
        ("ADD v int", "unsupported"),
    ],
)
def test_an_alter_is_recorded_as_the_change_that_gold_must_make(alter: str, kind: str) -> None:
    log = Log().run(CREATE, shown()).run(f"ALTER TABLE t {alter}", sql_mode=STRICT)
    assert log.kinds[2][0] == kind


CONVERT = "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4"


def test_a_layout_that_returns_unseen_has_its_previous_number() -> None:
    """In between, another layout that gold cannot distinguish from it had the highest number."""
    latin1 = replace(
        shown(), columns=(shown().columns[0], replace(shown().columns[1], collation=8))
    )
    log = Log().run(CREATE, shown(), "DROP TABLE t", CREATE, latin1, CONVERT, shown())
    assert [item.version for item in log.new if item.kind == "version"][-1] == 1
    log.run("ALTER TABLE t ADD n int", "ALTER TABLE t DROP n")
    assert (log.new[-2].kind, log.new[-2].version) == ("alter", 1)
