"""Which rows a table's partitions hold, where RANGE or LIST over one column tells it.

Rows are told by bounds of one column, or of one function of it. A NULL is in the lowest partition
of RANGE, and in the one that lists it of LIST. HASH and KEY, expressions, several columns and
sub-partitions are not told: such a table has no `Partitioning` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from decoder import TableDefinition, TypeOptions
from decoder.constants import INTEGER_BITS, ColumnType

Function = Literal["", "YEAR", "TO_DAYS"]
"""What RANGE is over: the column itself, or days or years of a DATE or DATETIME."""

_DATES = (ColumnType.DATE, ColumnType.DATETIME2)


class RowsNotToldError(ValueError):
    """Which rows a partition holds cannot be told."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: for RANGE `less_than` (None: MAXVALUE), for LIST its `values` (None: NULL)."""

    name: str
    less_than: int | None = None
    values: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The rows of some partitions: `function` of `column` is in one of `ranges` (first included,
    last not; None: without end), or it is NULL and `null` is set."""

    column: str
    function: Function
    ranges: tuple[tuple[int | None, int | None], ...]
    null: bool = False


@dataclass(frozen=True, slots=True)
class Partitioning:
    """PARTITION BY RANGE or LIST, with its partitions in order."""

    method: Literal["RANGE", "LIST"]
    column: str
    function: Function
    partitions: tuple[Partition, ...]

    def rows(
        self, names: Sequence[str] | None, table: TableDefinition, types: TypeOptions
    ) -> PartitionRows:
        """The rows of these partitions (None: of all). Raises `RowsNotToldError`."""
        self._check(table, types)
        wanted = self._places(names)
        null = False
        ranges: list[tuple[int | None, int | None]] = []
        for place in sorted(wanted):
            if self.method == "RANGE":
                low = self.partitions[place - 1].less_than if place else None
                ranges.append((low, self.partitions[place].less_than))
                null = null or place == 0
            else:
                values = self.partitions[place].values
                ranges += [(value, value + 1) for value in values if value is not None]
                null = null or None in values
        return PartitionRows(self.column, self.function, tuple(ranges), null)

    def known(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names that partitions have."""
        own = {partition.name.casefold() for partition in self.partitions}
        return tuple(name for name in names if name.casefold() in own)

    def _places(self, names: Sequence[str] | None) -> list[int]:
        if names is None:
            return list(range(len(self.partitions)))
        known = {partition.name.casefold(): n for n, partition in enumerate(self.partitions)}
        unknown = [name for name in names if name.casefold() not in known]
        if unknown:
            raise RowsNotToldError(f"of partition {unknown[0]} nothing is known")
        return [known[name.casefold()] for name in names]

    def _check(self, table: TableDefinition, types: TypeOptions) -> None:
        found = [c for c in table.columns if c.name.casefold() == self.column.casefold()]
        if not found:
            raise RowsNotToldError(f"column {self.column} is not in the table")
        column = found[0]
        if not self.function and column.type in INTEGER_BITS:
            return
        if not self.function or column.type not in _DATES:
            raise RowsNotToldError(f"it is partitioned by a {column.type.name}")
        if types.zero_dates == "string":
            raise RowsNotToldError("its dates are kept as text")
        if column.name not in table.key:
            # Outside of a key, a date that no calendar has is NULL in gold.
            raise RowsNotToldError(f"column {column.name} may hold dates that no calendar has")

    def without(self, names: Iterable[str]) -> Partitioning:
        """Without these partitions: in RANGE, the next one takes over what they held."""
        gone = {name.casefold() for name in names}
        kept = tuple(p for p in self.partitions if p.name.casefold() not in gone)
        return replace(self, partitions=kept)

    def with_more(self, partitions: Sequence[Partition]) -> Partitioning:
        """With partitions behind the last."""
        return replace(self, partitions=(*self.partitions, *partitions))

    def reorganized(
        self, names: Sequence[str], partitions: Sequence[Partition]
    ) -> Partitioning | None:
        """With partitions in the place of others; None where these are not known."""
        try:
            places = self._places(names)
        except RowsNotToldError:
            return None
        first, last = min(places), max(places)
        return replace(
            self,
            partitions=(*self.partitions[:first], *partitions, *self.partitions[last + 1 :]),
        )

    def renamed(self, column: str) -> Partitioning:
        """Over a column that has another name now."""
        return replace(self, column=column)
