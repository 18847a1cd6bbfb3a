"""Bronze's job on encrypted files: the same rows as for plain ones, once the key is available."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.bronze.tables import FileRow
from pipeline.settings.settings import EncryptionSettings
from tests.support.bronze.bronze_input import FILES, Bronze
from tests.support.decoder.encrypted_log import FOLDER, encrypted
from tests.support.spark.no_spark import NEVER_STARTED

FIRST, SECOND = FILES[:2]
KEYRING = str(FOLDER / "keyring")


def rows(bronze: Bronze) -> list[FileRow]:
    """The files' rows, without columns that depend on the folder."""
    return [replace(row, path="", modified="") for row in bronze.rows().values()]


def test_encrypted_files_get_the_same_rows_as_plain_ones(
    tmp_path: Path,
) -> None:
    secret = Bronze(NEVER_STARTED, tmp_path / "secret", KEYRING)
    plain = Bronze(NEVER_STARTED, tmp_path / "plain")
    for size in (200_000, None):
        for bronze in (secret, plain):
            bronze.put(FIRST, encrypt=bronze is secret)
            bronze.put(SECOND, size, in_use=size is not None, encrypt=bronze is secret)
            assert bronze.run().clean
        assert rows(secret) == rows(plain)
        assert rows(secret)[1].state == ("open" if size else "complete")
    assert secret.segments() == plain.segments()
    assert secret.holds(FIRST, SECOND)
    assert secret.restored(SECOND.name) == SECOND.read_bytes()


@pytest.fixture
def planned(tmp_path: Path) -> Bronze:
    """Two encrypted files, planned by a run that was killed before it executed the plan."""
    bronze = Bronze(NEVER_STARTED, tmp_path, KEYRING)
    bronze.put(FIRST, encrypt=True)
    bronze.put(SECOND, encrypt=True)
    bronze.plan()
    return bronze


def test_a_killed_run_is_finished_with_the_key(planned: Bronze) -> None:
    report = planned.run()
    assert report.clean
    assert report.batches == (1,)
    assert planned.holds(FIRST, SECOND)


def test_a_killed_run_that_is_finished_without_the_key_leaves_the_files_for_later(
    planned: Bronze,
) -> None:
    with_key = planned.settings
    planned.settings = with_key.model_copy(update={"encryption": EncryptionSettings()})
    planned.put(SECOND)
    report = planned.run()
    assert [row.state for row in rows(planned)] == ["faulty", "complete"]
    assert any(
        fault.startswith(f"{FIRST.name}, position 0: the file is encrypted")
        for fault in report.faults
    )
    planned.settings = with_key
    assert planned.run().clean
    assert planned.holds(FIRST, SECOND)


def test_damage_inside_an_encrypted_file_is_reported_at_its_position(
    tmp_path: Path,
) -> None:
    bronze = Bronze(NEVER_STARTED, tmp_path, KEYRING)
    content = bytearray(FIRST.read_bytes())
    content[150_000] ^= 1
    bronze.put_bytes(FIRST.name, encrypted(bytes(content)))
    (fault,) = bronze.run().faults
    (row,) = rows(bronze)
    assert row.state == "faulty"
    assert 0 < row.ingested_upto <= 150_000
    assert "checksum" in fault
