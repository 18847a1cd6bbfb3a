"""The rows that a table's partitions hold, for RANGE or LIST over one column.

Rows are identified by bounds on one column or one function of it. NULL is in the lowest partition
of RANGE, and in the LIST partition that names it. HASH, KEY, other expressions, several columns and
sub-partitions are not supported: such a table has no `Partitioning` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from decoder import TableDefinition, TypeOptions
from decoder.constants import INTEGER_BITS, ColumnType

Function = Literal["", "YEAR", "TO_DAYS"]
"""The function that RANGE is over: the column itself, or days or years of a DATE or DATETIME."""

_DATES = (ColumnType.DATE, ColumnType.DATETIME2)


class UnknownPartitionRowsError(ValueError):
    """The rows that a partition holds cannot be determined."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: for RANGE `less_than` (None: MAXVALUE), for LIST its `values` (None: NULL)."""

    name: str
    less_than: int | None = None
    values: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The rows of some partitions, as ranges of `function(column)`.

    Each range is (low, high), low inclusive and high exclusive; None is unbounded. `null`: rows
    where the value is NULL belong to them too.
    """

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
        """Return the rows of these partitions (None: all). Raises `UnknownPartitionRowsError`."""
        self._check(table, types)
        wanted = self._indexes(names)
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
        """Return those of the names that are partitions."""
        own = {partition.name.casefold() for partition in self.partitions}
        return tuple(name for name in names if name.casefold() in own)

    def _indexes(self, names: Sequence[str] | None) -> list[int]:
        if names is None:
            return list(range(len(self.partitions)))
        known = {partition.name.casefold(): n for n, partition in enumerate(self.partitions)}
        unknown = [name for name in names if name.casefold() not in known]
        if unknown:
            raise UnknownPartitionRowsError(f"partition {unknown[0]} is unknown")
        return [known[name.casefold()] for name in names]

    def _check(self, table: TableDefinition, types: TypeOptions) -> None:
        found = [c for c in table.columns if c.name.casefold() == self.column.casefold()]
        if not found:
            raise UnknownPartitionRowsError(f"the table has no column {self.column}")
        column = found[0]
        if not self.function and column.type in INTEGER_BITS:
            return
        if not self.function or column.type not in _DATES:
            raise UnknownPartitionRowsError(f"it is partitioned by type {column.type.name}")
        if types.zero_dates == "string":
            raise UnknownPartitionRowsError("its dates are stored as text")
        if column.name not in table.key:
            # Outside of a key, an impossible date is NULL in gold.
            raise UnknownPartitionRowsError(f"column {column.name} may hold impossible dates")

    def without(self, names: Iterable[str]) -> Partitioning:
        """Return it without these partitions; in RANGE, the next one covers their ranges."""
        gone = {name.casefold() for name in names}
        kept = tuple(p for p in self.partitions if p.name.casefold() not in gone)
        return replace(self, partitions=kept)

    def reorganized(
        self, names: Sequence[str], partitions: Sequence[Partition]
    ) -> Partitioning | None:
        """Return it with partitions replaced; None if the old ones are unknown."""
        try:
            places = self._indexes(names)
        except UnknownPartitionRowsError:
            return None
        first, last = min(places), max(places)
        return replace(
            self,
            partitions=(*self.partitions[:first], *partitions, *self.partitions[last + 1 :]),
        )
