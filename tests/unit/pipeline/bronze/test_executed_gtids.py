"""Detection of a RESET by the ordinals of files."""

from __future__ import annotations

import pytest

from pipeline.bronze.executed_gtids import first_after_reset
from pipeline.bronze.tables import FileRow
from tests.support.bronze.bronze_rows import file_row

FILES = [
    file_row("binlog.000004", 4),
    file_row("binlog.000005", 5),
    # The last file's ordinal is the base of a log after RESET.
    file_row("binlog.000001", 6),
    file_row("binlog.000002", 7),
    # Another server's has a free base.
    file_row("other.000003", 12),
    file_row("other.000001", 13),
]


@pytest.mark.parametrize(
    ("files", "upto", "name"),
    [
        ([], 9, None),
        (FILES[:2], 9, None),
        (FILES, 5, None),
        (FILES, 6, 6),
        (FILES, 12, 6),
        (FILES, 13, 13),
    ],
)
def test_the_first_file_after_the_last_reset(
    files: list[FileRow], upto: int, name: int | None
) -> None:
    found = first_after_reset(files, upto)
    assert (found and found.ordinal) == name
