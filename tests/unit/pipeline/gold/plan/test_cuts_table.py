"""Which published snapshot belongs to a moment, looked up without Spark."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.bronze.files import write_files
from pipeline.errors import SettingsError
from pipeline.gold.plan.cuts_table import CUTS, cuts_table, find_cut
from pipeline.gold.plan.publication import cut_step
from pipeline.lake import Lake
from pipeline.lake.tables.native import NativeTables
from pipeline.settings.until import Until
from tests.support.bronze.bronze_rows import file_row
from tests.support.silver.made_silver import (
    SERVER,
    SOURCE,
    START,
    MadeSilver,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)
from tests.support.spark.no_spark import NO_SPARK

T = definition("t")
FILE = "binlog.000001"


def publish(tables: NativeTables, batch: int, n: int, source: str = SOURCE) -> None:
    """A snapshot of all up to the n-th transaction."""
    row: dict[str, Any] = {
        "source": source,
        "batch": batch,
        "lsn": lsn(n),
        "gtid_set": f"{SERVER}:1-{n}",
        "committed_at": START + timedelta(seconds=n),
        "tables": [{"schema": "shop", "table": "t", "delta_version": batch, "held": False}],
    }
    rows = pa.Table.from_pylist([row], schema=CUTS)
    assert tables.append(cuts_table(tables.lake), rows, cut_step(source, batch))


@pytest.fixture
def tables(tmp_path: Path) -> NativeTables:
    """Eight transactions; snapshots at the second, fourth and seventh, and a full refresh, which
    published the fourth and the seventh again."""
    silver = MadeSilver(NO_SPARK, str(tmp_path / "lake"))
    silver.batch([Tx(n).insert(T, n, "a") for n in range(1, 9)], [item("create", 1, T)])
    write_files(NO_SPARK, silver.lake, SOURCE, [file_row(FILE, 1, source=SOURCE)], batch=1)
    made = NativeTables(silver.lake)
    for batch, n in ((1, 2), (2, 4), (3, 7), (5, 4), (6, 7)):
        publish(made, batch, n)
    return made


@pytest.mark.parametrize(
    ("at", "batch"),
    [
        (None, 6),
        (str(lsn(7)), 6),
        (str(lsn(7) - 1), 5),
        (str(lsn(3)), 1),
        ("2024-01-01T00:00:07Z", 6),
        ("2024-01-01T01:00:06.999+01:00", 5),
        ("2024-01-02", 6),
        (f"{SERVER}:7", 6),
        (f"{SERVER.upper()}:6", 5),
        (f"{SERVER}:3", 1),
        (f"{FILE}:8000", 6),
        (f"{FILE}:7999", 5),
        (f"{FILE}:99999", 6),
        (f"{FILE}:3000", 1),
    ],
)
def test_the_last_snapshot_with_nothing_later(
    tables: NativeTables, at: str | None, batch: int
) -> None:
    found = find_cut(tables, SOURCE, None if at is None else Until.read(at))
    assert (found.source, found.batch) == (SOURCE, batch)
    (table,) = found.tables
    assert (table["schema"], table["delta_version"]) == ("shop", batch)
    assert found.committed_at == START + timedelta(seconds=found.lsn % (1 << 40) // 1000)
    assert found.gtid_set == f"{SERVER}:1-{found.lsn % (1 << 40) // 1000}"


def test_the_last_one_published_counts_though_it_is_of_an_earlier_commit(
    tables: NativeTables,
) -> None:
    publish(tables, 7, 4)
    assert find_cut(tables).batch == 7
    assert find_cut(tables, at=Until.read("2024-01-02")).batch == 6


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (str(lsn(2) - 1), f"no published snapshot at or before .* is at LSN {lsn(2)}"),
        ("2024-01-01T00:00:01Z", "no published snapshot at or before 2024-01-01T00:00:01Z"),
        (f"{SERVER}:1", "no published snapshot at or before"),
        (f"{SERVER}:99", f"{SERVER}:99 is not in silver"),
        ("binlog.000099:4", "binlog.000099 is not a file of made"),
        (f"{FILE}:2999", "no published snapshot at or before"),
    ],
)
def test_a_moment_without_a_snapshot(tables: NativeTables, at: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as raised:
        find_cut(tables, SOURCE, Until.read(at))
    assert raised.value.key == "at"
    assert raised.value.remedy


def test_of_several_sources_one_is_to_be_named(tables: NativeTables, tmp_path: Path) -> None:
    publish(tables, 1, 3, "other")
    assert find_cut(tables, "other", Until.read("2024-01-02")).lsn == lsn(3)
    with pytest.raises(SettingsError, match=r"several sources: made, other\.") as raised:
        find_cut(tables)
    assert raised.value.key == "source"
    with pytest.raises(SettingsError, match="no published snapshot of none") as raised:
        find_cut(tables, "none")
    assert raised.value.key == "source"
    with pytest.raises(SettingsError, match="has no published snapshot") as raised:
        find_cut(NativeTables(Lake(str(tmp_path / "empty"))))
    assert raised.value.key == "lake"


def test_a_snapshot_of_no_transaction_has_no_time(tables: NativeTables) -> None:
    row = {"source": "seeded", "batch": 1, "lsn": 0, "tables": []}
    rows = pa.Table.from_pylist([row], schema=CUTS)
    tables.append(cuts_table(tables.lake), rows, cut_step("seeded", 1))
    assert find_cut(tables, "seeded").committed_at is None
    assert find_cut(tables, "seeded", Until.read("1")).lsn == 0
    later = datetime.now(timezone.utc).isoformat()
    with pytest.raises(SettingsError, match=r"the first one is at LSN 0\."):
        find_cut(tables, "seeded", Until.read(later))
