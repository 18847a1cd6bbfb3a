from __future__ import annotations

import pytest

from pipeline.source.server.log_position import (
    LogPosition,
    follows,
    is_log_name,
    number_of,
    owned_gtids,
)

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("binlog.000001", True),
        ("mysql-bin.1000000", True),
        ("my.host-bin.000009", True),
        ("binlog.index", False),
        ("binlog.00001", False),
        (".binlog.000001", False),
        ("../binlog.000001", False),
        ("/etc/binlog.000001", False),
        ("a\0.000001", False),
        (".000001", False),
        ("", False),
    ],
)
def test_names_of_logs(name: str, is_one: bool) -> None:
    assert is_log_name(name) is is_one


def test_positions_are_ordered_as_in_the_log() -> None:
    places = [("binlog.999999", 4), ("binlog.1000000", 4), ("binlog.1000000", 900)]
    positions = [LogPosition(*place) for place in places]
    assert sorted(reversed(positions), key=lambda position: position.rank) == positions
    first, second, third = (position.rank for position in positions)
    assert first < second <= second < third
    assert str(positions[0]) == "binlog.999999:4"


@pytest.mark.parametrize(
    ("later", "does"),
    [
        ("binlog.000010", True),
        ("binlog.000011", False),
        ("binlog.000009", False),
        ("other.000010", False),
        ("binlog", False),
    ],
)
def test_the_next_file_has_the_next_number(later: str, does: bool) -> None:
    assert follows(later, "binlog.000009") is does


def test_another_name_has_no_number() -> None:
    with pytest.raises(ValueError, match="not a binary log name"):
        number_of("binlog.index")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (f"{A}:5#12", [f"{A}:5"]),
        (f"{A}:5#12:7#13", [f"{A}:5", f"{A}:7"]),
        (f"{A}:5#12,\n{B}:1#3", [f"{A}:5", f"{B}:1"]),
        (f"{A}:5#12:blue:6#13:7#14", [f"{A}:5", f"{A}:blue:6", f"{A}:blue:7"]),
    ],
)
def test_owned_gtids(text: str, expected: list[str]) -> None:
    assert list(owned_gtids(text)) == expected
