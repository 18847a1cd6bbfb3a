"""`binlake status` of held tables, with a silver layer written by the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.bronze.files import write_files
from pipeline.lake import Lake
from pipeline.run import read_status
from pipeline.run.status import Status
from pipeline.source.capture.state import CaptureState, Lag, Replica, write_state
from tests.support.bronze.bronze_rows import file_row
from tests.support.gold.made_lake import MadeLake
from tests.support.silver.made_silver import SOURCE, MadeTransaction as Tx, definition, item, lsn

T = definition("t")
LATER = definition("later")
REFUSED = definition(
    "refused",
    ColumnDefinition("id", ColumnType.LONG, nullable=False),
    ColumnDefinition("__LSN", ColumnType.LONG),
)


class StatusLake(MadeLake):
    """A lake with a silver layer written by the tests, and its status."""

    def status(self, **options: Any) -> Status:
        self.run(**options)
        return read_status(self.spark, self.settings(**options))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> StatusLake:
    return StatusLake(spark, tmp_path / "lake")


def test_the_status_has_the_capture_of_the_settings(lake: StatusLake, tmp_path: Path) -> None:
    landed = tmp_path / "landed"
    landed.mkdir()
    write_state(landed, CaptureState(Replica.new(), file="binlog.000007", lag=Lag(2.0, 99, 3)))
    found = read_status(lake.spark, lake.settings(capture={"to": str(landed)}))
    capture = json.loads(found.to_json())["capture"]
    assert (capture["source"], capture["file"]) == (SOURCE, "binlog.000007")
    assert capture["lag"] == {"seconds": 2.0, "bytes": 99, "transactions": 3}
    assert read_status(lake.spark, lake.settings()).capture is None


def test_a_fault_of_unknown_tables_holds_every_table(lake: StatusLake) -> None:
    lake.silver.batch(
        [Tx(1).insert(T, 1, "a"), Tx(3).insert(T, 3, "c")], [item("create", 1, T)], [(2, None)]
    )
    (table,) = lake.status().tables
    assert (table.held, table.faults, table.complete) == (True, 1, True)
    assert "it is damaged" in (table.reason or "")


def test_a_table_that_gold_refuses_counts_as_a_fault(lake: StatusLake) -> None:
    lake.silver.batch(
        [Tx(1).insert(T, 1, "a").insert(REFUSED, 1, 1).insert(LATER, 1, "a")],
        [item("create", 1, T), item("create", 1, REFUSED), item("observed", 1, LATER)],
    )
    incomplete, refused, whole = lake.status().tables
    # It ends with its DROP, rows and all, and affects no other table.
    lake.silver.batch(
        [Tx(2).insert(T, 2, "b").insert(REFUSED, 2, 2), Tx(3)], [item("drop", 3, REFUSED)]
    )
    _, dropped, going_on = lake.status().tables
    assert (dropped.held, dropped.faults, dropped.dropped) == (False, 0, True)
    assert (going_on.complete, going_on.lsn) == (True, lsn(3))
    assert (refused.table, refused.held) == ("refused", True)
    assert json.dumps(refused.faults) == "1"
    assert "has the name of a column that Binlake adds" in (refused.reason or "")
    assert (whole.held, whole.faults, whole.complete) == (False, 0, True)
    # An incomplete table has the command that completes it.
    assert (incomplete.complete, incomplete.held) == (False, False)
    places = f"--source {SOURCE} --lake {lake.root}"
    table = f"{LATER.schema}.{LATER.table}"
    assert incomplete.remedy == (
        f"binlake seed {places} --table {table} reads its rows from the server, and binlake run"
        " loads them."
    )
    assert {refused.remedy, whole.remedy, dropped.remedy} == {None}


def test_gaps_and_damage_that_hold_silver_are_problems(lake: StatusLake) -> None:
    lake.silver.batch([Tx(1).insert(T, 1, "a")], [item("create", 1, T)])
    rows = [
        file_row("log.000001", 1, source=SOURCE),
        file_row("log.000003", 3, source=SOURCE, complete=False, fault="log.000003 is damaged."),
        file_row("log.000007", 7, source=SOURCE),
    ]
    write_files(lake.spark, Lake(lake.root), SOURCE, rows, batch=1)
    damage, gap = lake.status().problems
    assert lake.status(given_up=[1]).problems == (damage,)
    assert damage == "log.000003 is damaged."
    assert "1 file is missing between log.000001 and log.000003" in gap
