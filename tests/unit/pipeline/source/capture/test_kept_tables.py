"""The readings of table definitions that a capture keeps."""

from __future__ import annotations

from pipeline.source.capture.kept_tables import KEPT, with_reading
from pipeline.source.server.create_statements import CreateStatements, TableStatement
from pipeline.source.server.log_position import LogPosition


def reading(at: int, query: str, server_id: int = 1) -> CreateStatements:
    place = LogPosition("binlog.000001", at)
    return CreateStatements(
        "9.7.0", server_id, at, place, place, (TableStatement("s", "t", query),)
    )


def kept(*readings: CreateStatements) -> list[int]:
    found: list[CreateStatements] = []
    for one in readings:
        found = with_reading(found, one)
    return [one.at for one in found]


def test_of_equal_readings_the_first_and_the_last_are_kept() -> None:
    assert kept(*(reading(at, "a") for at in range(1, 9))) == [1, 8]
    others = (reading(1, "a"), reading(2, "b"), reading(3, "b"), reading(4, "b"), reading(5, "a"))
    assert kept(*others) == [1, 2, 4, 5]
    assert kept(reading(1, "a"), reading(2, "a"), reading(3, "a", 2)) == [1, 2, 3]


def test_the_number_of_kept_readings_is_limited() -> None:
    found = kept(*(reading(at, str(at)) for at in range(100)))
    assert found == [0, *range(100 - KEPT + 1, 100)]
