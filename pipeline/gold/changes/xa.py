"""XA transactions: the rows of one that is prepared are applied where it is committed.

Silver has them at the LSN of their XA PREPARE. What decides about them is a transaction of its own,
maybe in a later file and a later batch, and until then SELECT does not show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.catalog import TableName
from pipeline.catalog.alter.items import TimelineItem
from pipeline.gold.changes.blockers import Fault


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction that was prepared at `lsn`, with rows of `tables` (`schema.table`).

    `end_lsn`: where it is decided; None as long as it is not. `committed_at`: microseconds since
    1970, of the commit.
    """

    lsn: int
    tables: frozenset[str] = frozenset()
    end_lsn: int | None = None
    committed: bool = False
    committed_at: int | None = None

    def decided_after(self, lsn: int) -> bool:
        """Whether it was still open there."""
        return self.end_lsn is None or self.end_lsn > lsn

    def committed_in(self, low: int, high: int) -> bool:
        """Whether its rows are applied by what goes from `low` (excluded) to `high`."""
        return self.committed and self.end_lsn is not None and low < self.end_lsn <= high


def xa_rows(transactions: pa.Table) -> list[dict[str, Any]]:
    """The transactions that are of XA ones, in no order; `committed_at`: microseconds since 1970,
    `names`: of the tables that they have rows of."""
    found = transactions.filter(pc.is_valid(transactions.column("xa")))
    at = found.column("committed_at").cast(pa.int64()).to_pylist()
    columns = ["xa", "xa_end", "rolled_back", "rolled_back_rows", "rows", "__lsn"]
    return [
        {
            **row,
            "lsn": row["__lsn"],
            "committed_at": micros,
            "names": [name for name, _ in row["rows"] or ()],
        }
        for row, micros in zip(found.select(columns).to_pylist(), at, strict=True)
    ]


def pair(rows: Iterable[Mapping[str, Any]]) -> list[Prepared]:
    """Each prepared transaction with what decides about it: the next of its name that does.

    A decision about none of them is about one from before the first file: what it touched was there
    before, so that it is not complete anyway.
    """
    found: list[Prepared] = []
    waiting: dict[str, int] = {}
    for row in rows:
        if row["xa_end"] == "prepare":
            waiting[row["xa"]] = len(found)
            found.append(Prepared(row["lsn"], frozenset(row["names"])))
        elif row["xa_end"] in ("commit", "rollback") and row["xa"] in waiting:
            at = waiting.pop(row["xa"])
            found[at] = replace(
                found[at],
                end_lsn=row["lsn"],
                committed=row["xa_end"] == "commit",
                committed_at=row["committed_at"],
            )
    return found


def first_open(prepared: Iterable[Prepared], marks: Iterable[int], cut: int) -> int:
    """The LSN from which on the next batch must know of prepared transactions.

    `marks`: where the tables are. One of them that lags behind the cut still has to take in what
    was decided since.
    """
    least = min(marks, default=cut)
    return min((p.lsn for p in prepared if p.decided_after(least)), default=cut + 1)


def redefined(prepared: Iterable[Prepared], items: Sequence[TimelineItem]) -> Iterator[Fault]:
    """Faults where a table changed between PREPARE and COMMIT, which its locks should not allow:
    under which definition the rows are applied then is not known."""
    by_name: dict[str, list[TimelineItem]] = {}
    for item in items:
        by_name.setdefault(str(item.name), []).append(item)
    for one in prepared:
        if not one.committed or one.end_lsn is None:
            continue
        for name in sorted(one.tables):
            own = by_name.get(name, [])
            if changed := _changed(own, one.lsn, one.end_lsn):
                reason = (
                    f"{name} changed between XA PREPARE and XA COMMIT: how the rows of the"
                    " transaction are to be applied is not known."
                )
                yield Fault(one.end_lsn, reason, _names(changed))


def _names(changed: TimelineItem) -> tuple[TableName, ...]:
    """The table, and where its rows went."""
    return (changed.name, changed.other) if changed.other else (changed.name,)


def _changed(items: Sequence[TimelineItem], prepared: int, committed: int) -> TimelineItem | None:
    version = _version(items, prepared)
    for item in items:
        between = prepared < item.lsn < committed
        if between and (item.kind != "version" or item.version != version):
            return item
    return None


def _version(items: Sequence[TimelineItem], lsn: int) -> int | None:
    found = [item.version for item in items if item.lsn <= lsn and item.version is not None]
    return found[-1] if found else None
