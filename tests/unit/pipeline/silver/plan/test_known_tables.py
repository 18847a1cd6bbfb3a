"""From where in the log a definition holds that a server gave between two places of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from decoder import TableDefinition
from pipeline.bronze.files import FileRow
from pipeline.catalog import TableName, Timeline
from pipeline.catalog.timeline.timeline import CatalogOptions, LoggedStatement
from pipeline.silver.decode.segments import lsn_of
from pipeline.silver.plan.known_tables import Readings, beginnings, locate, waits_for
from pipeline.silver.plan.survey import in_log_order
from pipeline.silver.plan.take_seeds import Reached
from pipeline.source.server.create_statements import CreateStatements, ServerTable
from pipeline.source.server.log_place import LogPlace
from tests.unit.pipeline.silver.plan.test_take_seeds import file

CREATE = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `v` int,\n  PRIMARY KEY (`id`)\n)"
OTHER = CREATE.replace("`v` int", "`w` int")
START = 1, 4
MYSQL, MARIADB = "9.7.0", "11.8.3-MariaDB"
Event = tuple[int, str | TableDefinition]


def reading(first: int, last: int, query: str = CREATE, **values: Any) -> CreateStatements:
    told = {"server": MYSQL, "server_id": 1, "at": 150, **values}
    places = {"first": LogPlace("b.000001", first), "last": LogPlace("b.000001", last)}
    return CreateStatements(**told, **places, tables=(ServerTable("s", "t", query),))


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
    return locate(readings, Reached(0, (1, end), [file("b.000001", 1)], all_of_bronze=False), START)


def begun(rows: Sequence[Any], *readings: CreateStatements, **options: Any) -> list[Any]:
    timeline = Timeline((), CatalogOptions(**options))
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
        # nothing that changes the definition, or another table's, or after the reading
        ([statement(100, "ALTER TABLE t ADD INDEX (v), COMMENT 'x'")], 3),
        ([statement(100, "TRUNCATE t"), statement(120, "DROP DATABASE other")], 3),
        ([statement(100, "ALTER TABLE u ADD w int"), statement(600, "ALTER TABLE t ADD w int")], 3),
        # whether it was read before or after cannot be told
        ([statement(450, "ALTER TABLE t ADD w int")], None),
        # one that did nothing: MySQL tells by the XID, else rows were there before
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
def test_it_holds_back_to_the_last_statement_that_may_have_changed_it(
    rows: list[Any], since: int | None
) -> None:
    found = begun(rows, reading(400, 500))
    assert [one.lsn for one in found] == ([] if since is None else [lsn_of((1, since))])


@pytest.mark.parametrize(("start", "counts"), [(400, True), (401, False), (500, False)])
def test_a_reading_that_begins_before_the_batch_does_not_count(start: int, counts: bool) -> None:
    """An ALTER between its two places may be in an earlier batch."""
    reached = Reached(0, (1, 900), [file("b.000001", 1)], all_of_bronze=False)
    readings = locate([reading(400, 500)], reached, (1, start))
    assert bool(beginnings(readings, Timeline((), CatalogOptions()), (1, start), [])) == counts


def test_of_several_readings_the_first_that_tells_of_the_start_counts() -> None:
    rows = [statement(100, "ALTER TABLE t RENAME COLUMN v TO w")]
    (found,) = begun(rows, reading(400, 500, OTHER), reading(50, 50))
    assert found.lsn == lsn_of((1, 3))
    (table,) = found.start.tables
    assert table.statement.query == CREATE
    (found,) = begun(rows, reading(90, 110), reading(400, 500, OTHER))
    assert (found.lsn, found.start.tables[0].statement.query) == (lsn_of((1, 101)), OTHER)


@pytest.mark.parametrize(
    ("second", "given_up", "since"),
    [
        (file("b.000002", 2, begun=120), (), (1, 3)),
        # a gap that conf accepts, and a log that was begun anew
        (file("b.000002", 2, begun=120), (1,), (2, 0)),
        (file("b.000001", 2, begun=120), (), (2, 0)),
    ],
)
def test_it_does_not_hold_before_what_the_log_may_lack(
    second: FileRow, given_up: tuple[int, ...], since: tuple[int, int]
) -> None:
    place = LogPlace(second.file, 500)
    one = CreateStatements(MYSQL, 1, 150, place, place, (ServerTable("s", "t", CREATE),))
    reached = Reached(0, (2, 900), [file("b.000001", 1), second], all_of_bronze=False)
    (found,) = beginnings(
        locate([one], reached, START, given_up), Timeline((), CatalogOptions()), START, []
    )
    assert found.lsn == lsn_of(since)


def test_nothing_is_declared_that_is_known_not_replicated_or_no_table() -> None:
    timeline = Timeline((), CatalogOptions())
    timeline.statement(LoggedStatement(1, 0, CREATE, "s", server_version=90700))
    assert beginnings(located(reading(400, 500)), timeline, START, []) == []
    assert begun([], reading(400, 500), wanted=lambda _schema, _table: False) == []
    assert begun([], reading(400, 500, "CREATE SEQUENCE `t` start with 1")) == []


def test_names_are_those_of_the_log() -> None:
    upper = CreateStatements(
        MYSQL,
        1,
        150,
        LogPlace("b.000001", 4),
        LogPlace("b.000001", 4),
        (ServerTable("S", "T", ""),),
    )
    timeline = Timeline((), CatalogOptions(lower_case_table_names=1))
    assert timeline.name(*upper.tables[0][:2]) == TableName("s", "t")


def test_what_comes_later_than_the_batch_is_looked_up_as_far_as_the_reading() -> None:
    from pipeline.silver.decode.segments import SegmentRef

    later = [SegmentRef("b.000001", 1, start, start + 100, 1) for start in (300, 400, 500, 600)]
    asked: list[Sequence[SegmentRef]] = []

    def find(refs: Sequence[SegmentRef]) -> list[Any]:
        asked.append(refs)
        return [statement(350, "ALTER TABLE t ADD w int")]

    timeline = Timeline((), CatalogOptions())
    (found,) = beginnings(located(reading(450, 450)), timeline, START, [], later, find)
    assert found.lsn == lsn_of((1, 351))
    assert [ref.start_pos for ref in asked[0]] == [300, 400]


@pytest.mark.parametrize(
    ("one", "located_at", "comes"),
    [
        (reading(400, 500), [(1, 500)], False),
        (reading(400, 901), [], True),
        # of another server, or of before the log under way
        (reading(400, 901, server_id=2), [], False),
        (reading(400, 500, at=50), [], False),
    ],
)
def test_a_reading_counts_once_the_lake_has_come_to_its_place(
    one: CreateStatements, located_at: list[Any], comes: bool
) -> None:
    found = located(one)
    assert [place.last for place in found.located] == located_at
    assert bool(found.to_come) == comes


def test_a_first_batch_waits_for_names_that_are_to_come() -> None:
    rows: list[Any] = [table_map(50)]
    timeline = Timeline((), CatalogOptions())
    in_log_order(rows, timeline)
    told = waits_for([reading(400, 901)], rows, timeline)
    assert told is not None
    assert "s.t" in told
    assert "b.000001:901" in told
    assert waits_for([reading(400, 901)], [], timeline) is None
    named: list[Any] = [table_map(50, named=True)]
    known = Timeline((), CatalogOptions())
    in_log_order(named, known)
    assert waits_for([reading(400, 901)], named, known) is None


def test_a_reading_is_read_back_as_it_was_written() -> None:
    one = reading(400, 500)
    assert CreateStatements.from_json(one.to_json()) == one
    with pytest.raises(ValueError, match="format"):
        CreateStatements.from_dict({**one.to_dict(), "format": 2})
