"""Keys that the source does not guarantee, and which of them are refused."""

from __future__ import annotations

import pytest

from decoder import TableDefinition, TypeOptions
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.changes.key_checks import key_refusal

DAY = ColumnDefinition("day", ColumnType.DATE)
COLUMNS = (
    ColumnDefinition("id", ColumnType.LONG, nullable=False),
    DAY,
    ColumnDefinition("at", ColumnType.DATETIME2, nullable=False),
    ColumnDefinition("kind", ColumnType.ENUM, labels=("a", "b")),
    ColumnDefinition("empty", ColumnType.ENUM, labels=("a", "")),
    ColumnDefinition("none", ColumnType.SET, labels=("", "a")),
)
NULLS, TEXT = TypeOptions(), TypeOptions(zero_dates="string")


@pytest.mark.parametrize(
    ("key", "own", "types", "refused"),
    [
        (("id",), (0,), NULLS, None),
        (("id", "kind"), (0,), NULLS, None),
        (("id", "empty"), (0, 4), NULLS, "its key has empty, whose type has an empty label"),
        (("id", "none"), (0, 5), NULLS, "its key has none, whose type has an empty label"),
        (("day",), (0,), NULLS, "its key has day, which may be NULL, and a zero date is NULL too"),
        (("day",), (0,), TEXT, None),
        # A zero date in the source's own key is a fault of the row.
        (("day",), (1,), NULLS, None),
        # If NULL is not allowed, a zero date is found when it occurs.
        (("at",), (0,), NULLS, None),
    ],
)
def test_keys_with_ambiguous_values_are_refused(
    key: tuple[str, ...], own: tuple[int, ...], types: TypeOptions, refused: str | None
) -> None:
    definition = TableDefinition("s", "t", COLUMNS, own, (0,) * len(own))
    found = key_refusal(definition, key, types)
    assert found is None if refused is None else (found or "").startswith(refused)
