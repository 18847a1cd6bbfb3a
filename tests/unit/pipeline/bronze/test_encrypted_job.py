"""Bronze's job over encrypted files: like their plain twins, whenever the key is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.bronze.files import FileRow, read_files
from pipeline.bronze.job import run
from pipeline.bronze.restore import restore
from pipeline.lake import Lake
from pipeline.progress import QuietProgress
from pipeline.report import LayerReport
from pipeline.settings import Settings
from tests.support.encrypted_log import FOLDER, encrypted

DEMO = Path(__file__).parents[4] / "demo" / "binlogs"
FIRST, SECOND = sorted(DEMO.glob("binlog.0*"))[:2]
KEYRING = str(FOLDER / "keyring")
IN_USE = 21


class Bronze:
    """A folder of input and a lake."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.input = folder / "logs"
        self.lake = Lake(str(folder / "lake"))
        self.input.mkdir(parents=True)

    def put(self, file: Path, upto: int | None = None, *, encrypt: bool = True) -> None:
        content = bytearray(file.read_bytes()[:upto])
        content[IN_USE] |= upto is not None
        (self.input / file.name).write_bytes(encrypted(bytes(content)) if encrypt else content)

    def run(self, keyring: str | None = KEYRING) -> LayerReport:
        settings = Settings.load(
            None,
            source="shop",
            binlogs=str(self.input),
            lake=self.lake.root,
            segments={"target": 40_000, "limit": 90_000},
            encryption={"keyring": keyring},
        )
        return run(self.spark, settings, QuietProgress())

    def rows(self) -> list[FileRow]:
        """The files, without what differs from folder to folder."""
        found = read_files(self.spark, self.lake, "shop")
        return [replace(row, path="", modified="") for row in found]

    def segments(self) -> list[tuple[object, ...]]:
        found = delta.read(self.spark, self.lake.segments).orderBy("ordinal", "start_pos", "part")
        return [tuple(row) for row in found.collect()]

    def restored(self, file: Path) -> bytes:
        return b"".join(restore(self.spark, self.lake, "shop", file.name))


def test_what_bronze_holds_is_the_same_as_of_files_in_the_clear(
    spark: SparkSession, tmp_path: Path
) -> None:
    lakes = {name: Bronze(spark, tmp_path / name) for name in ("encrypted", "plain")}
    for size in (200_000, None):
        for name, bronze in lakes.items():
            bronze.put(FIRST, encrypt=name == "encrypted")
            bronze.put(SECOND, size, encrypt=name == "encrypted")
            assert bronze.run().clean
        secret, plain = lakes.values()
        assert secret.rows() == plain.rows()
        assert secret.rows()[1].state == ("open" if size else "complete")
    assert secret.segments() == plain.segments()
    assert secret.restored(SECOND) == SECOND.read_bytes()


class KilledError(BaseException):
    """The process is gone: nothing after this line of it runs."""


@pytest.fixture
def planned(spark: SparkSession, tmp_path: Path) -> Bronze:
    """Two encrypted files, planned by a run that was killed before it read them again."""

    def die(*_: object) -> None:
        raise KilledError

    bronze = Bronze(spark, tmp_path)
    bronze.put(FIRST)
    bronze.put(SECOND)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.bronze.job.carry_out", die)
        with pytest.raises(KilledError):
            bronze.run()
    return bronze


def test_a_killed_run_is_finished_with_the_key(planned: Bronze) -> None:
    report = planned.run()
    assert report.clean
    assert report.batches == (1,)
    assert [row.state for row in planned.rows()] == ["complete"] * 2


def test_a_killed_run_that_is_finished_without_the_key_leaves_the_files_for_later(
    planned: Bronze,
) -> None:
    planned.put(SECOND, encrypt=False)
    report = planned.run(keyring=None)
    assert [row.state for row in planned.rows()] == ["faulty", "complete"]
    assert any(
        fault.startswith(f"{FIRST.name}, position 0: it is encrypted") for fault in report.faults
    )
    assert planned.run().clean
    assert planned.restored(FIRST) == FIRST.read_bytes()


def test_damage_inside_an_encrypted_file_is_told_at_its_position(
    spark: SparkSession, tmp_path: Path
) -> None:
    bronze = Bronze(spark, tmp_path)
    content = bytearray(FIRST.read_bytes())
    content[150_000] ^= 1
    (bronze.input / FIRST.name).write_bytes(encrypted(bytes(content)))
    (fault,) = bronze.run().faults
    (row,) = bronze.rows()
    assert row.state == "faulty"
    assert 0 < row.ingested_upto <= 150_000
    assert "checksum" in fault
