"""Micro-batches over a folder that grows: what each has, and what a repeated one has."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import FloatType, IntegerType, StructType

from pyspark_binlog import DefaultSource
from pyspark_binlog.conform import ForeignColumnError
from pyspark_binlog.stream_offsets import LostLogError
from tests.support.bronze.bronze_input import FILES
from tests.support.spark.binlog_rows import PlayedStream, rows_of

TABLE = "shop.orders"
WHOLE = FILES[0].parent


def land(folder: Path, number: int, size: int | None = None) -> None:
    (folder / FILES[number].name).write_bytes(FILES[number].read_bytes()[:size])


def test_what_lands_is_given_once_also_after_a_restart(tmp_path: Path) -> None:
    size = FILES[0].stat().st_size
    found, offsets = [], []
    land(tmp_path, 0, size // 3)
    schema = DefaultSource({"path": str(WHOLE), "table": TABLE}).schema()
    stream = PlayedStream(tmp_path, schema, table=TABLE)
    for number, end in ((0, size // 2), (0, None), (1, 60_000), (1, None), (2, None), (3, None)):
        land(tmp_path, number, end)
        offsets.append(stream.offset)
        found.append(stream.next())
        stream.restart()
        assert stream.between(offsets[-1], stream.offset) == found[-1]
    assert stream.next() == []
    assert [row for some in found for row in some] == rows_of(WHOLE, table=TABLE)


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ({"maxFilesPerTrigger": "1"}, 4),
        ({"maxFilesPerTrigger": "3"}, 2),
        ({"maxBytesPerTrigger": "1 GiB"}, 1),
        ({"maxBytesPerTrigger": "1"}, 9),
        ({"segmentBytes": "20000"}, 1),
    ],
)
def test_a_micro_batch_keeps_its_limit(options: dict[str, str], batches: int) -> None:
    stream = PlayedStream(WHOLE, table=TABLE, **options)
    found = []
    for _ in range(batches):
        before = stream.offset
        found += stream.next()
        assert stream.offset != before
    expected = rows_of(WHOLE, table=TABLE)
    assert found == expected[: len(found)]
    if batches < 9:
        assert found == expected
    else:
        assert found + stream.next(limited=False) == expected


def test_without_a_table_a_stream_has_the_changes_of_all() -> None:
    assert PlayedStream(WHOLE).next() == rows_of(WHOLE)


def test_a_limit_that_is_smaller_than_the_end_of_a_file_does_not_stop_the_stream(
    tmp_path: Path,
) -> None:
    rotate = 19 + 8 + len(FILES[1].name) + 4
    land(tmp_path, 0, FILES[0].stat().st_size - rotate)
    stream = PlayedStream(tmp_path, table=TABLE, maxBytesPerTrigger="1")
    stream.next(limited=False)
    first = stream.offset["file"]
    land(tmp_path, 0)
    land(tmp_path, 1, 60_000)
    assert stream.next() == []
    assert stream.offset["file"] == first + 1


def test_available_now_ends_where_the_log_ended(tmp_path: Path) -> None:
    land(tmp_path, 0)
    land(tmp_path, 1, 60_000)
    stream = PlayedStream(tmp_path, table=TABLE, maxBytesPerTrigger="50000")
    expected = rows_of_landed(tmp_path)
    stream.until_now()
    found = stream.next()
    land(tmp_path, 1)
    land(tmp_path, 2)
    while some := stream.next():
        found += some
    last = stream.offset
    assert stream.next() == []
    assert stream.offset == last
    assert found == expected


def rows_of_landed(folder: Path) -> list[dict[str, object]]:
    stream = PlayedStream(folder, table=TABLE)
    return stream.next()


def test_a_change_that_the_schema_lacks_is_an_error(tmp_path: Path) -> None:
    image = StructType().add("id", IntegerType())
    schema = StructType().add("__lsn", "long").add("after", image)
    with pytest.raises(ForeignColumnError, match=r"binlog.000001, position \d+, table shop.orders"):
        PlayedStream(WHOLE, schema, table=TABLE).next()
    chosen = PlayedStream(WHOLE, table=TABLE, columns="id, total").next()
    assert {tuple(row["after"]) for row in chosen} == {("id", "total")}


def test_only_the_users_schema_may_change_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log's is that of its start: here, of a column that was FLOAT then."""
    image = StructType().add("total", FloatType())
    schema = StructType().add("__lsn", "long").add("__pos", "long").add("__row", "long")
    schema = schema.add("after", image)
    given = PlayedStream(WHOLE, schema, table=TABLE, columns="total")
    assert len(given.next()) == len(rows_of(WHOLE, table=TABLE))
    ask = DefaultSource.schema
    monkeypatch.setattr(DefaultSource, "schema", lambda source: ask(source) and schema)
    with pytest.raises(ForeignColumnError, match=r"column total is decimal.*, in the schema float"):
        PlayedStream(WHOLE, table=TABLE, columns="total").next()


@pytest.mark.parametrize("lost", ["purged", "reset", "replaced"])
def test_a_log_that_the_stream_cannot_continue_is_an_error(tmp_path: Path, lost: str) -> None:
    land(tmp_path, 0)
    land(tmp_path, 1, 60_000)
    stream = PlayedStream(tmp_path, table=TABLE)
    stream.next()
    if lost == "reset":
        (tmp_path / FILES[1].name).unlink()
    elif lost == "replaced":
        (tmp_path / FILES[0].name).unlink()
        (tmp_path / FILES[1].name).write_bytes(FILES[0].read_bytes())
    else:
        for number in (0, 1):
            (tmp_path / FILES[number].name).unlink()
        land(tmp_path, 2)
    with pytest.raises(LostLogError):
        stream.next()


def test_a_log_that_starts_over_between_two_files_is_an_error(tmp_path: Path) -> None:
    land(tmp_path, 0)
    land(tmp_path, 1, 60_000)
    stream = PlayedStream(tmp_path, table=TABLE, maxFilesPerTrigger="1")
    stream.next()
    assert stream.offset["position"] == 0
    for number in (0, 1):
        content = FILES[number + 2].read_bytes()
        (tmp_path / FILES[number].name).write_bytes(content)
    stream.restart()
    with pytest.raises(LostLogError, match="is not the file that the stream"):
        stream.next()
