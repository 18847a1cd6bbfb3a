"""The batch that declares conf's definitions, and from which position on."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.silver.plan.known_tables import beginning

FILES = {"binlog.000007": 3, "binlog.000008": 4}
TABLE = "USE s; CREATE TABLE t (a INT);"


@pytest.mark.parametrize(
    ("place", "begin", "end", "first", "declared_at"),
    [
        (None, (3, 0), (4, 900), True, (3, 0)),
        (None, (4, 0), (4, 900), False, None),
        # before the log: a file that no longer exists, or the very start
        (("binlog.000002", 500), (3, 0), (4, 900), True, (3, 0)),
        (("binlog.000002", 500), (4, 0), (4, 900), False, None),
        # within the log: in the batch that contains it
        (("binlog.000008", 158), (3, 0), (4, 900), True, (4, 158)),
        (("binlog.000008", 158), (3, 0), (4, 100), True, None),
        (("binlog.000008", 158), (4, 100), (4, 900), False, (4, 158)),
        # a later file
        (("binlog.000009", 158), (3, 0), (4, 900), True, None),
    ],
)
def test_definitions_are_declared_once_at_their_position(
    tmp_path: Path,
    place: tuple[str, int] | None,
    begin: tuple[int, int],
    end: tuple[int, int],
    first: bool,
    declared_at: tuple[int, int] | None,
) -> None:
    dump = tmp_path / "dump.sql"
    position = "CHANGE MASTER TO MASTER_LOG_FILE='{}', MASTER_LOG_POS={};\n".format(
        *place or ("", 0)
    )
    dump.write_text((position if place else "") + TABLE)
    settings = Settings.load(None, definitions=str(dump))
    found = beginning(settings, FILES, begin, end, first=first)
    expected = None if declared_at is None else declared_at[0] << 40 | declared_at[1]
    assert (found.lsn if found else None) == expected


def test_without_definitions_nothing_is_declared() -> None:
    assert beginning(Settings.load(None), FILES, (3, 0), (4, 900), first=True) is None
