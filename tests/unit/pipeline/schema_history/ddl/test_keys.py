"""Keys from DDL, which identify rows if table maps have no keys."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from pipeline.schema_history import Timeline
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.ddl.keys import Key, row_key
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions
from tests.unit.pipeline.schema_history.timeline.test_column_names import shown

AT = datetime(2026, 1, 2, tzinfo=timezone.utc)
COLUMNS = "a INT NOT NULL, b INT NOT NULL, c INT, v VARCHAR(9) NOT NULL"


@pytest.mark.parametrize(
    ("elements", "key"),
    [
        ("", None),
        (", PRIMARY KEY (b, a)", ("b", "a")),
        (", UNIQUE KEY u (c), UNIQUE KEY w (b)", ("b",)),
        (", UNIQUE KEY p (v(3)), UNIQUE (b DESC, a)", ("b", "a")),
        (", UNIQUE KEY e ((a + b)), CONSTRAINT x UNIQUE INDEX y USING BTREE (a)", ("a",)),
        (", CONSTRAINT PRIMARY KEY (a), UNIQUE (b)", ("a",)),
        (", KEY k (a), d INT NOT NULL UNIQUE", ("d",)),
        (", d SERIAL", ("d",)),
    ],
)
def test_the_key_is_the_primary_one_or_the_first_of_whole_columns_that_are_not_null(
    elements: str, key: tuple[str, ...] | None
) -> None:
    (created,) = effects(f"CREATE TABLE t ({COLUMNS}{elements})", StatementContext("s"))
    assert isinstance(created, CreateTable)
    assert created.model is not None
    not_null = [c.name for c in created.definition.columns if not c.nullable]
    found = row_key(created.model.keys or (), not_null)
    assert (found.columns if found else None) == key


def key_after(*statements: str, elements: str = "") -> tuple[str, ...]:
    """Return the key of a table map without keys after these statements."""
    timeline = Timeline((), TimelineOptions())
    logged = (f"CREATE TABLE t ({COLUMNS}{elements})", *statements)
    for number, query in enumerate(logged, 1):
        fields = {"ddl_xid": 1, "executed_at": AT, "server_version": 90700, "sql_mode": 0x200000}
        timeline.statement(LoggedStatement(10 * number, 0, query, "s", **fields))
    definition = next(i.definition for i in reversed(timeline.new) if i.definition)
    found = timeline.table_map((1000, 0), shown(definition))
    assert found.definition.named
    return found.definition.key


@pytest.mark.parametrize(
    ("elements", "statements", "key"),
    [
        (", PRIMARY KEY (a)", ("ALTER TABLE t DROP PRIMARY KEY",), ()),
        (", PRIMARY KEY (a)", ("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b)",), ("b",)),
        (", PRIMARY KEY (a), UNIQUE u (b)", ("ALTER TABLE t DROP PRIMARY KEY",), ("b",)),
        (", UNIQUE u (b)", ("DROP INDEX u ON t",), ()),
        (", UNIQUE u (b)", ("ALTER TABLE t RENAME INDEX u TO w", "DROP INDEX u ON t"), ("b",)),
        (", UNIQUE u (b)", ("ALTER TABLE t RENAME INDEX u TO w", "DROP INDEX w ON t"), ()),
        (", UNIQUE u (a, b)", ("ALTER TABLE t RENAME COLUMN a TO z",), ("z", "b")),
        (
            ", UNIQUE u (a, b)",
            ("ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a",),
            ("b", "a"),
        ),
        (", UNIQUE u (a, b)", ("ALTER TABLE t DROP COLUMN a",), ("b",)),
        ("", ("CREATE UNIQUE INDEX u ON t (b)",), ("b",)),
        ("", ("CREATE INDEX i ON t (b)", "ALTER TABLE t ADD KEY j (a)"), ()),
        ("", ("ALTER TABLE t ADD CONSTRAINT x UNIQUE (a, b)",), ("a", "b")),
        ("", ("ALTER TABLE t ADD COLUMN id INT PRIMARY KEY FIRST",), ("id",)),
        # a name that the server generated: of the unique key, or of another index
        (", KEY (b), UNIQUE (b)", ("DROP INDEX b ON t",), ()),
        (", UNIQUE (b)", ("DROP INDEX other ON t",), ("b",)),
        # the key that is dropped or renamed is unknown, but never PRIMARY
        (", PRIMARY KEY (a), UNIQUE (b)", ("DROP INDEX b ON t",), ("a",)),
        (", PRIMARY KEY (a), UNIQUE (b)", ("ALTER TABLE t RENAME INDEX b TO c",), ("a",)),
        (", UNIQUE u (a)", ("CREATE OR REPLACE UNIQUE INDEX u ON t (b)",), ("b",)),
        (", UNIQUE u (a)", ("CREATE OR REPLACE INDEX u USING BTREE ON t (b)",), ()),
        (", UNIQUE u (a)", ("CREATE UNIQUE INDEX IF NOT EXISTS U ON t (b)",), ("a",)),
    ],
)
def test_ddl_changes_keys_and_uncertain_keys_are_not_used(
    elements: str, statements: tuple[str, ...], key: tuple[str, ...]
) -> None:
    assert key_after(*statements, elements=elements) == key


def test_a_nullable_unique_key_does_not_identify_rows() -> None:
    assert row_key([Key("u", ("c",), (0,))], ["a"]) is None


@pytest.mark.parametrize(
    ("elements", "hashes"),
    [
        ("UNIQUE (t)", 1),
        ("UNIQUE (t(10))", 0),
        ("UNIQUE (id, j)", 1),
        ("UNIQUE (id)", 0),
        ("UNIQUE (id) USING HASH", 1),
        ("UNIQUE k USING HASH (id)", 1),
        ("UNIQUE (id) USING BTREE", 0),
        ("UNIQUE (v)", 0),
        ("UNIQUE (v, w)", 1),
        ("PRIMARY KEY (v, w)", 0),
        ("UNIQUE (t), UNIQUE (id), UNIQUE (v, w)", 2),
    ],
)
def test_mariadb_hashes_keys_too_long_for_an_index(elements: str, hashes: int) -> None:
    columns = "id INT, t TEXT, j JSON, v VARCHAR(700), w VARCHAR(700)"
    (created,) = effects(f"CREATE TABLE t ({columns}, {elements})", StatementContext("s"))
    assert isinstance(created, CreateTable)
    assert created.model is not None
    by_name = {column.name: column for column in created.definition.columns}
    assert sum(key.may_need_hash(by_name) for key in created.model.keys or ()) == hashes
    assert TableModel.from_json(created.model.to_json()) == created.model
