"""A seed is used only if the log has everything that happened to its rows since."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoder import TableDefinition
from decoder.constants import LogicalType
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.alter.items import SeededFrom, TimelineItem
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.ddl.schema_dump import DumpedStatement
from pipeline.schema_history.timeline.column_names import without_logical_types
from pipeline.schema_history.timeline.definitions_file import StartTable, TimelineStart
from pipeline.schema_history.timeline.seed_items import (
    AFTER_ALL_EVENTS,
    CASCADES,
    NotSeededError,
    UnloggedTypesError,
)
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions
from tests.unit.pipeline.schema_history.timeline.test_timeline import declared_by

CREATE = "CREATE TABLE `t` (`id` int NOT NULL, `v` varchar(10) DEFAULT NULL, PRIMARY KEY (`id`))"
CHILD = CREATE[:-1] + ", FOREIGN KEY (v) REFERENCES p (v) ON DELETE CASCADE)"
OTHER = "CREATE TABLE `t` (`id` int NOT NULL, `v` bigint, PRIMARY KEY (`id`))"
SEED, END = 100, 200
BEFORE, AFTER = 50, 150
"""LSNs: the seed is from after 100, and used at 200."""
Event = tuple[int, str | TableDefinition]


def shown(query: str = CREATE) -> TableDefinition:
    return replace(declared_by(query), complete_metadata=True)


def unnamed(query: str = CREATE) -> TableDefinition:
    definition = shown(query)
    columns = tuple(replace(c, name=f"c{n}") for n, c in enumerate(definition.columns, start=1))
    return replace(
        definition, columns=columns, complete_metadata=False, named=False, primary_key=()
    )


def timeline(*events: Event) -> Timeline:
    found = Timeline((), TimelineOptions())
    for lsn, event in events:
        if isinstance(event, str):
            found.statement(LoggedStatement(lsn, 0, event, "s", ddl_xid=1, server_version=90700))
        else:
            found.table_map((lsn, 1), event)
    return found


def taken(
    found: Timeline, query: str = CREATE, *, exact: bool = False, all_logged: bool = True
) -> TimelineItem | None:
    at = LoggedStatement(END, 0, query, "s", server_version=90700)
    seed = SeededFrom("s~t~1", SEED, exact)
    return found.seed(at, seed, list(found.new), all_logged=all_logged)


@pytest.mark.parametrize(
    "events",
    [
        (),
        ((BEFORE, shown()),),
        ((AFTER, shown()),),
        ((BEFORE, CREATE), (BEFORE, shown()), (AFTER, shown())),
        # whatever it was before the drop
        ((10, OTHER), (10, shown(OTHER)), (20, "DROP TABLE t")),
        # held since before the seed
        ((BEFORE, shown()), (BEFORE, "ALTER TABLE t MODIFY v json"), (BEFORE, shown())),
        # other tables
        ((AFTER, "ALTER TABLE other ADD x int"), (AFTER, "CREATE TABLE u (id int)")),
        ((AFTER, "DROP DATABASE other"), (BEFORE, "DROP DATABASE s"), (BEFORE, "TRUNCATE t")),
    ],
)
def test_a_seed_s_rows_are_the_table_s_from_the_end_of_the_batch_on(
    events: tuple[Event, ...],
) -> None:
    found = timeline(*events)
    item = taken(found)
    assert item is not None
    assert (item.position, item.kind, item.reason) == ((END, AFTER_ALL_EVENTS), "seeded", None)
    assert item.definition is not None
    assert [column.name for column in item.definition.columns] == ["id", "v"]
    assert item.seed == SeededFrom("s~t~1", SEED, exact=False)
    assert found.new[-1] == item
    assert TimelineItem.from_dict(item.to_dict()) == item


def test_a_seed_continues_the_version_that_the_log_has_shown() -> None:
    found = timeline((BEFORE, shown()))
    assert [item.version for item in found.new] == [1]
    item = taken(found)
    assert item is not None
    assert (item.version, item.definition) == (1, shown())
    # the table map after it only shows that there are rows
    found.table_map((END + 1, 1), shown())
    assert [item.kind for item in found.new[2:]] in ([], ["version"])


def test_a_held_table_continues_after_its_seed() -> None:
    found = timeline((BEFORE, shown()), (BEFORE, "ALTER TABLE t MODIFY v json"))
    assert found.new[-1].kind == "unsupported"
    taken(found)
    found.statement(
        LoggedStatement(END + 5, 0, "ALTER TABLE t ADD n int DEFAULT 1", "s", ddl_xid=1)
    )
    assert found.new[-1].kind == "add_columns"


@pytest.mark.parametrize("events", [(CREATE,), (shown(), "TRUNCATE t"), ("DROP TABLE t", CREATE)])
def test_a_table_emptied_since_the_seed_does_not_need_it(
    events: tuple[str | TableDefinition],
) -> None:
    found = timeline((BEFORE, shown()), *((AFTER, event) for event in events))
    items = list(found.new)
    assert taken(found) is None
    assert found.new == items


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (
            ((BEFORE, shown()), (AFTER, "ALTER TABLE t ADD n int")),
            "changed the table since the initial snapshot: ALTER",
        ),
        (
            ((BEFORE, shown()), (AFTER, "DROP TABLE t")),
            "changed the table since the initial snapshot: DROP",
        ),
        (
            ((BEFORE, shown()), (AFTER, "RENAME TABLE t TO u")),
            "changed the table since the initial snapshot: RENAME",
        ),
        (
            # for a held table, only the fact that there was an ALTER is recorded
            (
                (BEFORE, shown()),
                (BEFORE, "ALTER TABLE t MODIFY v json"),
                (AFTER, "ALTER TABLE t ADD n int"),
            ),
            "since the initial snapshot: ALTER TABLE t ADD n int",
        ),
        (((BEFORE, shown(OTHER)),), "definition in the log differs: column v"),
        (((AFTER, shown(OTHER)),), "definition in the log differs: column v"),
        (((AFTER, unnamed()),), "binlog_row_metadata"),
        (((BEFORE, shown()), (AFTER, shown(OTHER))), "changed since"),
        # the same for an unknown table
        (((AFTER, "TRUNCATE TABLE t"),), "changed the table since the initial snapshot: TRUNCATE"),
        (
            ((AFTER, "ALTER TABLE t ADD n int"),),
            "changed the table since the initial snapshot: ALTER",
        ),
        (
            ((AFTER, "ALTER TABLE t DROP PARTITION p"),),
            "changed the table since the initial snapshot: ALTER",
        ),
        (
            ((AFTER, "DROP TABLE IF EXISTS u, t"),),
            "changed the table since the initial snapshot: DROP",
        ),
        (
            ((AFTER, "RENAME TABLE t TO u, v TO t"),),
            "changed the table since the initial snapshot: RENAME",
        ),
        (((AFTER, "RENAME TABLE u TO t"),), "changed the table since the initial snapshot: RENAME"),
        (
            ((AFTER, "DROP DATABASE s"),),
            "changed the table since the initial snapshot: DROP DATABASE",
        ),
    ],
)
def test_a_seed_is_refused_if_the_log_since_then_is_not_enough(
    events: tuple[Event, ...], reason: str
) -> None:
    found = timeline(*events)
    items = list(found.new)
    with pytest.raises(NotSeededError, match=reason):
        taken(found)
    assert found.new == items


def test_a_seed_of_a_table_that_is_not_replicated_is_refused() -> None:
    with pytest.raises(NotSeededError, match="SEQUENCE"):
        taken(timeline(), "CREATE SEQUENCE t")


@pytest.mark.parametrize(
    ("query", "all_logged", "reason"),
    [(CREATE, False, None), (CHILD, True, None), (CHILD, False, CASCADES)],
)
def test_a_seed_with_unlogged_cascades_is_not_complete(
    query: str, all_logged: bool, reason: str | None
) -> None:
    item = taken(timeline(), query, all_logged=all_logged)
    assert item is not None
    assert item.reason == reason


def test_a_second_seed_may_be_from_before_the_first_one_s_item() -> None:
    found = timeline((BEFORE, shown()))
    assert taken(found)
    at = LoggedStatement(END + 50, 0, CREATE, "s", server_version=90700)
    item = found.seed(at, SeededFrom("s~t~2", END - 10, exact=True), found.new, all_logged=True)
    assert item is not None
    assert item.lsn == END + 50


ADDRESSES = "CREATE TABLE `t` (`id` uuid NOT NULL, `v` vector(3), PRIMARY KEY (`id`))"


def as_mariadb_logs_it() -> TableDefinition:
    """Return the definition of its table map on MariaDB."""
    return without_logical_types(shown(ADDRESSES))


def test_a_seed_supplies_mariadb_s_types_for_a_table_from_before_the_log() -> None:
    found = Timeline((), TimelineOptions(), {TableName("s", "t"): shown(ADDRESSES)})
    seen = found.table_map((BEFORE, 1), as_mariadb_logs_it()).definition
    assert [column.logical for column in seen.columns] == [LogicalType.UUID, LogicalType.VECTOR]
    item = taken(found, ADDRESSES)
    assert item is not None
    assert item.definition == seen


def test_a_table_stored_as_bytes_is_decoded_again_before_its_seed() -> None:
    found = timeline((BEFORE, as_mariadb_logs_it()))
    with pytest.raises(
        UnloggedTypesError, match=r"id STRING \(binary\) became id STRING \(string\)"
    ):
        taken(found, ADDRESSES)
    # Until then its rows keep their stored types, whatever the seed says.
    later = Timeline(found.new, TimelineOptions(), {TableName("s", "t"): shown(ADDRESSES)})
    assert later.table_map((AFTER, 1), as_mariadb_logs_it()).definition == as_mariadb_logs_it()
    assert later.new == []


ONLY_UNIQUE = (
    "CREATE TABLE `t` (`id` int NOT NULL, `v` varchar(10) DEFAULT NULL,"
    " UNIQUE KEY `id` (`id`), UNIQUE KEY `v` (`v`))"
)


@pytest.mark.parametrize("lsn", [BEFORE, AFTER, None])
def test_without_a_primary_key_a_not_null_unique_key_is_used(
    lsn: int | None,
) -> None:
    logged = replace(shown(ONLY_UNIQUE), primary_key=(0,), primary_key_prefixes=(0,))
    found = timeline() if lsn is None else timeline((lsn, logged))
    item = taken(found, ONLY_UNIQUE)
    assert item is not None
    assert item.definition is not None
    assert item.definition.primary_key == (0,)
    # the first rows logged for it show no other key
    found.table_map((END + 1, 1), logged)
    assert found.new[-1].kind in ("seeded", "version")


def test_a_log_without_a_key_takes_precedence() -> None:
    item = taken(timeline((BEFORE, shown(ONLY_UNIQUE))), ONLY_UNIQUE)
    assert item is not None
    assert item.definition is not None
    assert item.definition.primary_key == ()


def start() -> TimelineStart:
    (effect,) = effects(CREATE, StatementContext("s"))
    assert isinstance(effect, CreateTable)
    return TimelineStart((StartTable(DumpedStatement(CREATE, "s"), effect),))


def test_a_table_named_by_a_server_later_is_seeded_from_there_on() -> None:
    found = timeline((10, unnamed()))
    assert found.new[-1].kind == "unsupported"
    assert found.lacks(TableName("s", "t"))
    found.declare(LoggedStatement(BEFORE, 0, "", server_version=90700), start())
    assert not found.lacks(TableName("s", "t"))
    found.table_map((AFTER, 1), unnamed())
    assert [item.kind for item in found.new] == ["unsupported", "declared", "observed"]
    item = taken(found)
    assert item is not None
    assert item.version == found.new[-2].version


def test_a_definition_from_a_server_after_the_seed_is_not_a_change() -> None:
    found = timeline()
    found.declare(LoggedStatement(AFTER, 0, "", server_version=90700), start())
    assert taken(found) is not None
    late = timeline((AFTER, unnamed()))
    late.declare(LoggedStatement(AFTER + 1, 0, "", server_version=90700), start())
    with pytest.raises(NotSeededError, match="binlake retry"):
        taken(late)
