from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.source.capture.dump_start import DumpStart, dump_start
from pipeline.source.capture.errors import AnotherLogError, PurgedError
from pipeline.source.capture.landed_folder import Landed
from pipeline.source.capture.source import LogFile
from pipeline.source.server.log_position import LogPosition

GIB = 1 << 30


def landed(number: int, end: int, *, ended: bool = False) -> Landed:
    return Landed(LogPosition(f"binlog.{number:06}", end), end - 31, ended)


def begin(
    held: Landed | None,
    *sizes: tuple[int, int],
    first_file: str | None = None,
    accept_gap: bool = False,
    large_positions: bool = False,
    base: str = "binlog",
) -> DumpStart:
    return dump_start(
        held,
        [LogFile(f"{base}.{number:06}", size) for number, size in sizes],
        folder="/landed",
        first_file=first_file,
        accept_gap=accept_gap,
        large_positions=large_positions,
    )


@pytest.mark.parametrize(
    ("held", "logs", "options", "file", "position", "lost"),
    [
        (None, [(3, 900), (4, 200)], {}, 3, 4, False),
        (None, [(3, 900), (4, 200)], {"first_file": "binlog.000004"}, 4, 4, False),
        (landed(3, 500), [(3, 900)], {}, 3, 469, False),
        (landed(3, 900, ended=True), [(3, 900), (4, 200)], {}, 3, 869, False),
        (landed(3, 5 * GIB), [(3, 6 * GIB)], {}, 3, 4, False),
        (landed(3, 5 * GIB), [(3, 6 * GIB)], {"large_positions": True}, 3, 5 * GIB - 31, False),
        (landed(3, 900, ended=True), [(4, 200), (5, 100)], {}, 4, 4, False),
        (landed(3, 900), [(4, 200)], {"accept_gap": True}, 4, 4, True),
        (landed(3, 900, ended=True), [(6, 200)], {"accept_gap": True}, 6, 4, True),
        (landed(999999, 900, ended=True), [(1000000, 200)], {}, 1000000, 4, False),
    ],
)
def test_a_dump_starts_with_the_last_landed_event(
    held: Landed | None,
    logs: list[tuple[int, int]],
    options: dict[str, Any],
    file: int,
    position: int,
    lost: bool,
) -> None:
    start = begin(held, *logs, **options)
    assert start == DumpStart(LogPosition(f"binlog.{file:06}", position), lost)


@pytest.mark.parametrize(
    ("held", "logs"),
    [
        (landed(3, 900), [(4, 200)]),  # its end was not landed
        (landed(3, 900, ended=True), [(5, 200)]),
    ],
)
def test_purged_files_are_an_error_that_names_the_gap(
    held: Landed, logs: list[tuple[int, int]]
) -> None:
    with pytest.raises(
        PurgedError, match=r"binlog\.000003, position 900.*capture\.purged"
    ) as error:
        begin(held, *logs)
    assert error.value.first == f"binlog.{logs[0][0]:06}"
    assert not error.value.retryable


@pytest.mark.parametrize(
    ("held", "logs", "options"),
    [
        (landed(3, 900), [(3, 899)], {}),
        (landed(3, 900), [(1, 500), (2, 500)], {}),
        (landed(3, 900), [(4, 500)], {"base": "mysql-bin"}),
    ],
    ids=["shorter than landed", "log was reset", "another name"],
)
def test_a_log_that_does_not_continue_the_landed_one_is_refused(
    held: Landed | None, logs: list[tuple[int, int]], options: dict[str, Any]
) -> None:
    with pytest.raises(AnotherLogError, match="another folder"):
        begin(held, *logs, **options)


def test_an_unknown_first_file_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match=r"capture\.first_file: .* binlog\.000003 to") as error:
        begin(None, (3, 900), (4, 200), first_file="binlog.000001")
    assert error.value.exit_code == 2
