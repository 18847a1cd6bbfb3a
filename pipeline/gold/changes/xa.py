"""XA transactions: the rows of a prepared transaction are applied where it is committed.

Silver has them at the LSN of their XA PREPARE. The XA COMMIT or XA ROLLBACK is a transaction of its
own, possibly in a later file and a later batch; until then SELECT does not return the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.gold.changes.holds import OpenFault
from pipeline.schema_history.alter.items import TimelineItem


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction prepared at `lsn`, with rows of `tables` (`schema.table`).

    `end_lsn`: where it is committed or rolled back; None while it is open. `committed_at`: time of
    the commit in microseconds since 1970.
    """

    lsn: int
    tables: frozenset[str] = frozenset()
    end_lsn: int | None = None
    committed: bool = False
    committed_at: int | None = None

    def decided_after(self, lsn: int) -> bool:
        """Return True if it was still open at that LSN."""
        return self.end_lsn is None or self.end_lsn > lsn

    def committed_in(self, low: int, high: int) -> bool:
        """Return True if its rows are applied by a batch over (`low`, `high`]."""
        return self.committed and self.end_lsn is not None and low < self.end_lsn <= high


def xa_rows(transactions: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of XA transactions, unordered.

    `committed_at` is in microseconds since 1970; `names` are the tables that they have rows of.
    """
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
    """Return each prepared transaction with its decision: the next one with its XID.

    A decision without a PREPARE belongs to a transaction from before the first file. Its tables
    existed before, too, so they are not complete anyway.
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


def first_open(prepared: Iterable[Prepared], reached: Iterable[int], cut_lsn: int) -> int:
    """Return the LSN from which on the next batch must read prepared transactions.

    `reached`: the LSNs that the tables have reached. A table that lags behind `cut_lsn` must still
    apply transactions decided since.
    """
    least = min(reached, default=cut_lsn)
    return min((p.lsn for p in prepared if p.decided_after(least)), default=cut_lsn + 1)


def redefined(prepared: Iterable[Prepared], items: Sequence[TimelineItem]) -> Iterator[OpenFault]:
    """Yield faults for tables that changed between PREPARE and COMMIT, despite their locks.

    It is then unknown under which definition to apply the rows.
    """
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
                    f"{name} changed between XA PREPARE and XA COMMIT: it is unknown how to apply"
                    " the rows of the transaction."
                )
                # The table, and the one that its rows were moved to.
                names = (changed.name, changed.other) if changed.other else (changed.name,)
                yield OpenFault(one.end_lsn, reason, names)


def _changed(items: Sequence[TimelineItem], prepared: int, committed: int) -> TimelineItem | None:
    before = [item.version for item in items if item.lsn <= prepared and item.version is not None]
    version = before[-1] if before else None
    for item in items:
        between = prepared < item.lsn < committed
        if between and (item.kind != "version" or item.version != version):
            return item
    return None
