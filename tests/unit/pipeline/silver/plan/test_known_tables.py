"""From which LSN on a definition is valid that was read from a server between two positions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from decoder import TableDefinition
from pipeline.bronze.tables import FileRow
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions
from pipeline.silver.decode.segment_refs import lsn_of
from pipeline.silver.plan.known_tables import Readings, beginnings, locate, waits_for
from pipeline.silver.plan.survey import in_log_order
from pipeline.silver.plan.take_seeds import SilverReached
from pipeline.source.server.create_statements import CreateStatements, TableStatement
from pipeline.source.server.log_position import LogPosition
from tests.unit.pipeline.silver.plan.test_take_seeds import file

CREATE = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `v` int,\n  PRIMARY KEY (`id`)\n)"
OTHER = CREATE.replace("`v` int", "`w` int")
START = 1, 4
MYSQL, MARIADB = "9.7.0", "11.8.3-MariaDB"
Event = tuple[int, str | TableDefinition]


def reading(first: int, last: int, query: str = CREATE, **values: Any) -> CreateStatements:
    fields = {"server": MYSQL, "server_id": 1, "at": 150, **values}
    places = {"first": LogPosition("b.000001", first), "last": LogPosition("b.000001", last)}
    return CreateStatements(**fields, **places, tables=(TableStatement("s", "t", query),))


def statement(pos: int, query: str, *, xid: int | None = 1, server: str = MYSQL) -> dict[str, Any]:
    content = {
        "query": query, "schema": "s", "sql_mode": 0, "time_zone": None, "charset": None,
        "connection_charset": None, "server_charset": None, "executed_at": None, "ddl_xid": xid,
        "explicit_defaults_for_timestamp": None, "thread_specific": False, "server": server,
    }  # fmt: skip
    return row(pos, "statement", json.dumps(content))


def table_map(pos: int, *, named: bool = False) -> dict[str, Any]:
    return row(pos, "definition", TableDefinition("s", "t", (), named=named).to_json())


def row(pos: int, kind: str, content: str) -> dict[str, Any]:
    lsn = lsn_of((1, pos))
    return {"kind": kind, "lsn": lsn, "pos": pos, "ordinal": 1, "file": "b.000001"} | {
        "content": content
    }


def located(*readings: CreateStatements, end: int = 900) -> Readings:
    return locate(
        readings, SilverReached(0, (1, end), [file("b.000001", 1)], all_of_bronze=False), START
    )


def declared(rows: Sequence[Any], *readings: CreateStatements, **options: Any) -> list[Any]:
    timeline = Timeline((), TimelineOptions(**options))
    return beginnings(located(*readings), timeline, START, rows)


@pytest.mark.parametrize(
    ("rows", "since"),
    [
        ([], 3),
        ([statement(100, "ALTER TABLE t ADD COLUMN w int")], 101),
        ([statement(100, "ALTER TABLE t ADD w int"), statement(200, "RENAME TABLE t TO u")], 201),
        ([statement(100, "RENAME TABLE u TO t")], 101),
        ([statement(100, "DROP TABLE t"), statement(120, CREATE)], 121),
        ([statement(100, "DROP DATABASE s")], 101),
        # no change of the definition, of another table's, or after the reading
        ([statement(100, "ALTER TABLE t ADD INDEX (v), COMMENT 'x'")], 3),
        ([statement(100, "TRUNCATE t"), statement(120, "DROP DATABASE other")], 3),
        ([statement(100, "ALTER TABLE u ADD w int"), statement(600, "ALTER TABLE t ADD w int")], 3),
        # it may have been read before or after the change
        ([statement(450, "ALTER TABLE t ADD w int")], None),
        # a no-op: in MySQL it has no XID, on other servers rows were logged before
        ([statement(100, CREATE.replace("`t`", "IF NOT EXISTS t"), xid=None)], 3),
        ([statement(100, CREATE.replace("`t`", "IF NOT EXISTS t"))], 101),
        (
            [
                table_map(50),
                statement(100, CREATE.replace("`t`", "IF NOT EXISTS t"), server=MARIADB),
            ],
            3,
        ),
        ([statement(100, CREATE.replace("`t`", "IF NOT EXISTS t"), server=MARIADB)], 101),
    ],
)
def test_a_definition_is_valid_back_to_the_last_statement_that_may_have_changed_it(
    rows: list[Any], since: int | None
) -> None:
    found = declared(rows, reading(400, 500))
    assert [one.lsn for one in found] == ([] if since is None else [lsn_of((1, since))])


@pytest.mark.parametrize(("start", "counts"), [(400, True), (401, False), (500, False)])
def test_a_reading_that_starts_before_the_batch_is_ignored(start: int, counts: bool) -> None:
    """An ALTER between its two positions may be in an earlier batch."""
    reached = SilverReached(0, (1, 900), [file("b.000001", 1)], all_of_bronze=False)
    readings = locate([reading(400, 500)], reached, (1, start))
    assert bool(beginnings(readings, Timeline((), TimelineOptions()), (1, start), [])) == counts


def test_the_first_reading_that_is_valid_at_the_start_is_used() -> None:
    rows = [statement(100, "ALTER TABLE t RENAME COLUMN v TO w")]
    (found,) = declared(rows, reading(400, 500, OTHER), reading(50, 50))
    assert found.lsn == lsn_of((1, 3))
    (table,) = found.start.tables
    assert table.statement.query == CREATE
    (found,) = declared(rows, reading(90, 110), reading(400, 500, OTHER))
    assert (found.lsn, found.start.tables[0].statement.query) == (lsn_of((1, 101)), OTHER)


@pytest.mark.parametrize(
    ("second", "given_up", "since"),
    [
        (file("b.000002", 2, begun=120), (), (1, 3)),
        # a gap that conf accepts, and a log that was reset
        (file("b.000002", 2, begun=120), (1,), (2, 0)),
        (file("b.000001", 2, begun=120), (), (2, 0)),
    ],
)
def test_a_definition_is_not_valid_before_a_gap_in_the_log(
    second: FileRow, given_up: tuple[int, ...], since: tuple[int, int]
) -> None:
    place = LogPosition(second.file, 500)
    one = CreateStatements(MYSQL, 1, 150, place, place, (TableStatement("s", "t", CREATE),))
    reached = SilverReached(0, (2, 900), [file("b.000001", 1), second], all_of_bronze=False)
    (found,) = beginnings(
        locate([one], reached, START, given_up), Timeline((), TimelineOptions()), START, []
    )
    assert found.lsn == lsn_of(since)


def test_known_excluded_and_non_tables_are_not_declared() -> None:
    timeline = Timeline((), TimelineOptions())
    timeline.statement(LoggedStatement(1, 0, CREATE, "s", server_version=90700))
    assert beginnings(located(reading(400, 500)), timeline, START, []) == []
    assert declared([], reading(400, 500), wanted=lambda _schema, _table: False) == []
    assert declared([], reading(400, 500, "CREATE SEQUENCE `t` start with 1")) == []


def test_names_are_spelled_as_in_the_log() -> None:
    upper = CreateStatements(
        MYSQL,
        1,
        150,
        LogPosition("b.000001", 4),
        LogPosition("b.000001", 4),
        (TableStatement("S", "T", ""),),
    )
    timeline = Timeline((), TimelineOptions(lower_case_table_names=1))
    assert timeline.name(*upper.tables[0][:2]) == TableName("s", "t")


def test_later_segments_are_surveyed_up_to_the_reading() -> None:
    from pipeline.silver.decode.segment_refs import SegmentRef

    later = [SegmentRef("b.000001", 1, start, start + 100, 1) for start in (300, 400, 500, 600)]
    asked: list[Sequence[SegmentRef]] = []

    def find(refs: Sequence[SegmentRef]) -> list[Any]:
        asked.append(refs)
        return [statement(350, "ALTER TABLE t ADD w int")]

    timeline = Timeline((), TimelineOptions())
    (found,) = beginnings(located(reading(450, 450)), timeline, START, [], later, find)
    assert found.lsn == lsn_of((1, 351))
    assert [ref.start_pos for ref in asked[0]] == [300, 400]


@pytest.mark.parametrize(
    ("one", "located_at", "comes"),
    [
        (reading(400, 500), [(1, 500)], False),
        (reading(400, 901), [], True),
        # from another server, or from before the current log
        (reading(400, 901, server_id=2), [], False),
        (reading(400, 500, at=50), [], False),
    ],
)
def test_a_reading_is_used_once_the_lake_has_reached_its_position(
    one: CreateStatements, located_at: list[Any], comes: bool
) -> None:
    found = located(one)
    assert [place.last for place in found.located] == located_at
    assert bool(found.to_come) == comes


def test_a_first_batch_waits_for_names_from_later_readings() -> None:
    rows: list[Any] = [table_map(50)]
    timeline = Timeline((), TimelineOptions())
    in_log_order(rows, timeline)
    reason = waits_for([reading(400, 901)], rows, timeline)
    assert reason is not None
    assert "s.t" in reason
    assert "b.000001:901" in reason
    assert waits_for([reading(400, 901)], [], timeline) is None
    named: list[Any] = [table_map(50, named=True)]
    known = Timeline((), TimelineOptions())
    in_log_order(named, known)
    assert waits_for([reading(400, 901)], named, known) is None


def test_a_reading_is_stored_and_read_back() -> None:
    one = reading(400, 500)
    text = json.dumps(one.to_dict())
    assert '"first": ["b.000001", 400], "last": ["b.000001", 500], "tables": [["s", "t", "' in text
    assert CreateStatements.from_dict(json.loads(text)) == one
    with pytest.raises(ValueError, match="format"):
        CreateStatements.from_dict({**one.to_dict(), "format": 2})
