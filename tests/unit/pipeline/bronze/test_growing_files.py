"""A growing file is read from its last segment on, and still proved to be the same file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.bronze import scan
from tests.support.bronze.bronze_input import FILES, IN_USE, Bronze
from tests.support.decoder.encrypted_log import FOLDER
from tests.support.spark.no_spark import NEVER_STARTED

FILE = FILES[0]
"""Its segments of 40 kB end near 40,000, 80,000, 120,000, …"""


@pytest.fixture
def bronze(tmp_path: Path) -> Bronze:
    return Bronze(NEVER_STARTED, tmp_path)


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The sizes of files that were read from their beginning."""
    sizes: list[int | None] = []
    read = scan._scan_whole

    def noted(task: scan.ScanTask) -> scan.FileScan:
        sizes.append(task.size)
        return read(task)

    monkeypatch.setattr(scan, "_scan_whole", noted)
    return sizes


def put(bronze: Bronze, size: int | None, *, encrypt: bool = False) -> None:
    bronze.put(FILE, size, in_use=size is not None, encrypt=encrypt)


@pytest.mark.parametrize("encrypt", [False, True])
def test_only_the_first_and_the_last_look_read_all_of_it(
    bronze: Bronze, whole: list[int | None], encrypt: bool, tmp_path: Path
) -> None:
    if encrypt:
        bronze = Bronze(NEVER_STARTED, tmp_path / "encrypted", str(FOLDER / "keyring"))
    for size in (150_000, 180_000, 181_000, 240_000):
        put(bronze, size, encrypt=encrypt)
        assert bronze.run().clean
    assert whole == [150_000]
    ends = [end for _, _, _, end, *_ in bronze.segments()]
    assert bronze.rows()[FILE.name].ingested_upto == max(ends) > 230_000
    put(bronze, None, encrypt=encrypt)
    assert bronze.run().clean
    assert whole == [150_000, FILE.stat().st_size]
    assert bronze.holds(FILE)
    assert bronze.rows()[FILE.name].state == "complete"


def flipped(position: int) -> Callable[[Bronze, bytearray], None]:
    def change(bronze: Bronze, content: bytearray) -> None:
        # In a row's value; the checksum of its event is not adapted, so that it is damaged.
        content[bronze.rows()[FILE.name].ingested_upto + position] ^= 4

    return change


def another(bronze: Bronze, content: bytearray) -> None:
    """Another log with the same head: as of a server that was set back and went on."""
    mark = bronze.rows()[FILE.name].ingested_upto
    start = max(start for _, _, start, *_ in bronze.segments())
    later = FILE.read_bytes()
    del content[start:]
    content += later[mark : mark + (200_000 - start)]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (flipped(-500), "the checksum does not match"),
        (flipped(500), "the checksum does not match"),
        (another, FILE.name),
    ],
    ids=["in the last segment", "after it", "another log from there on"],
)
def test_a_file_that_is_not_what_was_ingested_is_read_in_full_and_held(
    bronze: Bronze,
    whole: list[int | None],
    change: Callable[[Bronze, bytearray], None],
    fault: str,
) -> None:
    put(bronze, 150_000)
    assert bronze.run().clean
    held = bronze.segments()
    content = bytearray(FILE.read_bytes()[:200_000])
    content[IN_USE] |= 1
    change(bronze, content)
    bronze.put_bytes(FILE.name, bytes(content))
    (found,) = bronze.run().faults
    assert fault in found
    assert len(whole) == 2
    assert bronze.segments()[: len(held)] == held
    put(bronze, None)
    assert bronze.run().clean
    assert bronze.holds(FILE)


def test_a_file_that_was_changed_before_its_last_segment_is_held_once_it_ends(
    bronze: Bronze, whole: list[int | None]
) -> None:
    put(bronze, 150_000)
    assert bronze.run().clean
    content = bytearray(FILE.read_bytes())
    content[30_000] ^= 4
    bronze.put_bytes(FILE.name, bytes(content))
    (found,) = bronze.run().faults
    assert "the checksum does not match" in found
    assert len(whole) == 2


def test_a_file_that_has_become_shorter_is_reported(bronze: Bronze) -> None:
    put(bronze, 150_000)
    bronze.run()
    put(bronze, 100_000)
    (found,) = bronze.run().faults
    assert "has become shorter" in found
