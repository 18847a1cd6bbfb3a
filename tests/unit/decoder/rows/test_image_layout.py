"""The layout of row images: widths of every type, and runs of fixed columns."""

from __future__ import annotations

from typing import Any

import pytest

from decoder import TableDefinition
from decoder.constants import ColumnType as T
from decoder.errors import UnsupportedError
from decoder.model.definition import ColumnDefinition
from decoder.rows.image_layout import (
    BEFORE,
    BIT,
    FIRST,
    FIXED_MASK,
    LENGTH_MASK,
    MAX_RUN_COLUMNS,
    NULL_MASK,
    OFFSET,
    PREFIX,
    RUN,
    VARIABLE,
    VARIABLE_BIT,
    WIDTH,
    layout_of,
    stored_width,
)


def column(kind: T, **fields: Any) -> ColumnDefinition:
    return ColumnDefinition("c", kind, **fields)


@pytest.mark.parametrize(
    ("kind", "fields", "width"),
    [
        (T.TINY, {}, 1), (T.SHORT, {}, 2), (T.INT24, {}, 3), (T.LONG, {}, 4), (T.LONGLONG, {}, 8),
        (T.FLOAT, {}, 4), (T.DOUBLE, {}, 8), (T.YEAR, {}, 1), (T.DATE, {}, 3), (T.TIME, {}, 3),
        (T.DATETIME, {}, 8), (T.TIMESTAMP, {}, 4),
        (T.TIME2, {"fraction": 0}, 3), (T.TIME2, {"fraction": 3}, 5), (T.TIME2, {"fraction": 6}, 6),
        (T.DATETIME2, {"fraction": 0}, 5), (T.DATETIME2, {"fraction": 1}, 6),
        (T.TIMESTAMP2, {"fraction": 6}, 7),
        (T.NEWDECIMAL, {"precision": 10, "scale": 2}, 5),
        (T.NEWDECIMAL, {"precision": 65, "scale": 30}, 30),
        (T.NEWDECIMAL, {"precision": 1, "scale": 1}, 1),
        (T.BIT, {"length": 1}, 1), (T.BIT, {"length": 9}, 2), (T.BIT, {"length": 64}, 8),
        *((T.SET, {"length": size}, size) for size in (1, 2, 3, 4, 8)),
        *((T.BIT, {"length": bits}, (bits + 7) // 8) for bits in range(1, 65)),
        (T.VAR_STRING, {"length": 100, "length_bytes": 1}, 0),
        (T.TYPED_ARRAY, {"length_bytes": 4}, 0), (T.VARCHAR_COMPRESSED, {"length_bytes": 2}, 0),
        (T.ENUM, {"length": 2}, 2), (T.SET, {"length": 8}, 8),
        (T.VARCHAR, {"length": 100, "length_bytes": 2}, 0), (T.JSON, {"length_bytes": 4}, 0),
    ],
)  # fmt: skip
def test_stored_width(kind: T, fields: dict[str, int], width: int) -> None:
    assert stored_width(column(kind, **fields)) == width


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        (T.INVALID, {}, "INVALID"),
        (T.DECIMAL, {}, "before MySQL 5.0"),
        (T.TIME, {"fraction_logged": False}, "mysql56_temporal_format"),
        (T.DATETIME, {"fraction_logged": False}, "mysql56_temporal_format"),
        (T.TIMESTAMP, {"fraction_logged": False}, "mysql56_temporal_format"),
    ],
)
def test_a_type_without_a_known_width_is_unsupported(
    kind: T, fields: dict[str, bool], reason: str
) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        stored_width(column(kind, **fields))


def test_hidden_columns_are_part_of_the_layout() -> None:
    number, key = column(T.LONG), column(T.LONGLONG)
    array = column(T.TYPED_ARRAY, length_bytes=4)
    definition = TableDefinition("s", "t", (number, number), hidden=((1, array), (2, key)))
    assert definition.logged == (number, array, key, number)
    assert definition.places == (0, 3)
    plan = layout_of(definition, b"\x0f")
    assert (plan.columns, plan.variable) == (4, 1)
    assert plan.widths.tolist() == [4, 0, 8, 4]


def test_runs_end_at_columns_of_variable_length() -> None:
    columns = (
        column(T.LONG), column(T.TINY), column(T.VARCHAR, length_bytes=1),
        column(T.JSON, length_bytes=4), column(T.SHORT),
    )  # fmt: skip
    plan = layout_of(TableDefinition("s", "t", columns), b"\xff")
    assert plan.runs[:, [FIRST, WIDTH, PREFIX, LENGTH_MASK]].tolist() == [
        [0, 5, 1, 0xFF],
        [3, 0, 4, 0xFFFFFFFF],
        [4, 2, 0, 0],
    ]
    assert plan.runs[:, [NULL_MASK, FIXED_MASK, VARIABLE_BIT]].tolist() == [
        [7, 3, 4],
        [1, 0, 1],
        [1, 1, 0],
    ]
    assert plan.cells[:, [RUN, OFFSET, BIT, BEFORE, VARIABLE]].tolist() == [
        [0, 0, 1, 0, -1],
        [0, 4, 2, 1, -1],
        [0, 5, 4, 3, 0],
        [1, 0, 1, 0, 1],
        [2, 0, 1, 0, -1],
    ]
    assert plan.widths.tolist() == [4, 1, 0, 0, 2]


def test_a_long_run_is_split_so_that_its_null_bits_fit_one_load() -> None:
    plan = layout_of(TableDefinition("s", "t", (column(T.TINY),) * 130), b"\xff" * 17)
    assert plan.runs[:, FIRST].tolist() == [0, MAX_RUN_COLUMNS, 2 * MAX_RUN_COLUMNS]
    assert plan.runs[:, WIDTH].tolist() == [56, 56, 18]


def test_absent_columns_are_not_part_of_the_layout() -> None:
    columns = (column(T.LONG), column(T.VARCHAR, length_bytes=1), column(T.TINY), column(T.SHORT))
    plan = layout_of(TableDefinition("s", "t", columns), b"\x0d")
    assert plan.present == (0, 2, 3)
    assert plan.variable == 0
    assert plan.cells[:, [RUN, OFFSET, BIT]].tolist() == [[0, 0, 1], [0, 4, 2], [0, 5, 4]]


def test_an_image_may_have_no_columns() -> None:
    plan = layout_of(TableDefinition("s", "t", (column(T.LONG),)), b"\0")
    assert (plan.columns, plan.variable, plan.runs[:, WIDTH].tolist()) == (0, 0, [0])
