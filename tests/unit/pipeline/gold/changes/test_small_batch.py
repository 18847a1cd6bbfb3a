"""When changes count as few and are folded at the driver."""

from __future__ import annotations

import pytest

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.small_batch import (
    HELD_BYTES,
    VALUE_BYTES,
    Few,
    are_few,
    few_of,
)
from pipeline.gold.changes.xa import Prepared
from pipeline.lake.child_sessions import FEW
from pipeline.lake.lazy_spark import FEW_BYTES
from tests.support.spark.no_spark import NO_SPARK

NUMBER = ColumnDefinition("id", ColumnType.LONG)


@pytest.mark.parametrize(
    ("facts", "few"),
    [
        (Facts(0, 9), True),
        (Facts(0, 9, changes=FEW, bytes=FEW_BYTES), True),
        (Facts(0, 9, changes=FEW + 1), False),
        (Facts(0, 9, changes=1, bytes=FEW_BYTES + 1), False),
        # the transaction's size is not counted
        (Facts(1, 9, changes=1, prepared=(Prepared(1), Prepared(2))), False),
        (Facts(1, 9, changes=1, prepared=(Prepared(2),)), True),
    ],
    ids=["nothing", "just few", "too many", "too large", "prepared before", "prepared in it"],
)
def test_few_depends_on_the_counts_in_the_log(facts: Facts, few: bool) -> None:
    assert are_few(facts) is few


def columns(*kinds: ColumnDefinition) -> TableDefinition:
    return TableDefinition("shop", "t", (NUMBER, *kinds), (0,))


@pytest.mark.parametrize(
    ("kinds", "size"),
    [
        ((), 0),
        ((ColumnDefinition("n", ColumnType.NEWDECIMAL, precision=65),), 32 + 65),
        ((ColumnDefinition("v", ColumnType.VARCHAR, length=160, length_bytes=1),), 32 + 480),
        ((ColumnDefinition("e", ColumnType.ENUM, length=1, labels=("a", "bc")),), 32 + 9),
        ((ColumnDefinition("t", ColumnType.BLOB, length_bytes=2),), 32 + 3 * 65536),
    ],
    ids=["a number", "digits", "short text", "labels", "text"],
)
def test_the_maximum_row_size_follows_from_the_columns(
    kinds: tuple[ColumnDefinition, ...], size: int
) -> None:
    most = HELD_BYTES // (2 * (VALUE_BYTES + size))
    for count, sized in ((most, True), (most + 1, False)):
        assert few_of(Few(count, NO_SPARK), columns(*kinds)) == Few(count, NO_SPARK, sized)


def test_unlimited_values_are_measured_first() -> None:
    document = ColumnDefinition("j", ColumnType.JSON, length_bytes=4)
    assert few_of(Few(1, NO_SPARK), columns(document)) == Few(1, NO_SPARK, sized=False)
    assert few_of(None, columns()) is None
