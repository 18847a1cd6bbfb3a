"""The folder of a seed that is being filled, and which attempts can be resumed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.lake import Lake, stores
from pipeline.schema_history import TableName
from pipeline.seed.folder import BEGUN, PATIENCE, SeedFolder, SeedProgress, under_way
from pipeline.seed.source_table import NotSeedableError
from pipeline.silver.plan.stored_seeds import MANIFEST, new_id

NAME = TableName("shop", "item")
TYPES = {"time": "duration", "zero_dates": "null"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


@pytest.fixture
def begun(lake: Lake) -> SeedProgress:
    chunks = ("a < 5", "a >= 5")
    made = SeedProgress(new_id(NAME), "a server", "CREATE", "binlog.000001", 4, chunks, TYPES)
    SeedFolder(lake, "live", made.id).begin(made)
    return made


def test_an_unfinished_seed_with_the_same_parameters_is_resumed(
    lake: Lake, begun: SeedProgress
) -> None:
    assert under_way(lake, "live", NAME) == begun
    assert under_way(lake, "live", NAME, origin="a server", query="CREATE") == begun
    assert under_way(lake, "live", NAME, origin="another") is None
    assert under_way(lake, "live", TableName("shop", "items")) is None
    assert under_way(lake, "other", NAME) is None


def test_an_old_or_complete_seed_is_not_resumed(lake: Lake, begun: SeedProgress) -> None:
    folder = SeedFolder(lake, "live", begun.id)
    folder.begin(replace(begun, at=begun.at - PATIENCE - 1))
    assert under_way(lake, "live", NAME) is None
    folder.begin(begun)
    Path(folder.path, MANIFEST).write_text("{}")
    assert under_way(lake, "live", NAME) is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", "null"])
def test_a_seed_with_damaged_parameters_starts_over(
    lake: Lake, begun: SeedProgress, text: str
) -> None:
    Path(SeedFolder(lake, "live", begun.id).path, BEGUN).write_text(text)
    assert under_way(lake, "live", NAME) is None


def test_a_chunk_is_complete_once_all_its_rows_are_written(lake: Lake, begun: SeedProgress) -> None:
    folder = SeedFolder(lake, "live", begun.id)
    schema = pa.schema([pa.field("c0", pa.int32())])
    batch = pa.RecordBatch.from_arrays([pa.array([1, None], pa.int32())], schema=schema)

    def broken() -> list[pa.RecordBatch]:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        folder.write(0, schema, (batch for batch in broken()))
    assert folder.done(0) is None
    folder.write(0, schema, [batch, batch])
    done = folder.done(0)
    assert done is not None
    assert folder.done(1) is None
    assert pq.read_table(f"{folder.rows}/{done}", schema=schema).num_rows == 4
    folder.write(1, schema, [])
    first, second = folder.parts(NAME, 2)
    assert first == done
    assert pq.read_table(f"{folder.rows}/{second}", schema=schema).num_rows == 0
    # another run has written the same chunk: only one of the two counts
    folder.write(0, schema, [batch])
    assert len(folder.parts(NAME, 2)) == 2


def test_a_missing_chunk_is_an_error(lake: Lake, begun: SeedProgress) -> None:
    folder = SeedFolder(lake, "live", begun.id)
    schema = pa.schema([pa.field("c0", pa.int32())])
    for number in range(3):
        folder.write(number, schema, [])
    stores.remove(f"{folder.rows}/000001")
    with pytest.raises(NotSeedableError, match=r"^shop\.item: 1 of its 3 chunks have disapp"):
        folder.parts(NAME, 3)


def test_a_chunk_that_is_removed_while_it_is_written_is_not_complete(
    lake: Lake, begun: SeedProgress
) -> None:
    folder = SeedFolder(lake, "live", begun.id)
    schema = pa.schema([pa.field("c0", pa.int32())])
    batch = pa.RecordBatch.from_arrays([pa.array([1], pa.int32())], schema=schema)

    def until_it_is_removed() -> Iterator[pa.RecordBatch]:
        yield batch
        folder.remove()
        yield batch

    folder.write(0, schema, until_it_is_removed())
    with pytest.raises(NotSeedableError, match="1 of its 1 chunks have disappeared"):
        folder.parts(NAME, 1)
