"""Decode a range of a log to the rows of committed transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from decoder import BinlogError, TypeOptions, schemas
from decoder.model import Changes, Faults, Result, TableFilter, Transactions
from decoder.transactions import STATEMENT_DML
from pipeline.schema_history import TableName
from pipeline.schema_history.timeline import with_consequences
from pipeline.silver.decode import Decode
from pyspark_binlog.log_ranges import LogRange
from pyspark_binlog.xa_outcomes import XaOutcomes

_DAMAGED = (
    "If the file is damaged, copy it from the server again. binlake run sets such a transaction"
    " aside, and replicates the other tables."
)
_STATEMENT = (
    "Set binlog_format=ROW on the server, and read only files that were logged since, or leave the"
    " table out."
)


@dataclass(frozen=True)
class WantedTables:
    """The tables whose rows are read: one `table`, or all that the settings include.

    `included` is `Settings.wanted`. `consequences`: by table, what a statement on it may change.
    """

    table: TableName | None
    included: TableFilter
    consequences: Mapping[str, list[str]] = field(default_factory=dict)

    def __call__(self, schema: str, table: str) -> bool:
        """Return True if the table's rows are read."""
        if self.table is None:
            return self.included(schema, table)
        return (schema, table) == (self.table.schema, self.table.table)

    def affected(self, fault: Mapping[str, Any]) -> bool:
        """Return True if rows of a wanted table may be missing because of a fault."""
        tables = fault["tables"]
        if tables is None:
            return True
        if fault["kind"] == STATEMENT_DML:
            tables = with_consequences(tables, self.consequences)
        names = map(TableName.read, tables)
        return any(self(name.schema, name.table) for name in names)


@dataclass(frozen=True)
class CommittedRows:
    """Decoder of ranges; `lower_case`: the server's table names are in lower case."""

    types: TypeOptions
    wanted: WantedTables
    lower_case: bool = False

    def __call__(self, read: LogRange) -> Iterator[Changes]:
        """Yield the changes in a range, in the order of the log as far as tables allow.

        Rows that were rolled back are left out; those of an XA transaction have the LSN, GTID and
        time of its XA COMMIT. Raises BinlogError at the first event that may have changed a wanted
        table and cannot be decoded.
        """
        for changes in self._kept(read):
            found = _of_xa(changes, read)
            if found.batch.num_rows:
                yield found

    def _kept(self, read: LogRange) -> Iterator[Changes]:
        decode = Decode(self.types, self.wanted, {}, names=read.names, lower_case=self.lower_case)
        results = self._sound(decode.results(read.segment, read.parts()))
        return _without_rolled_back(results) if read.rolled_back else _changes_in(results)

    def _sound(self, results: Iterable[Result]) -> Iterator[Result]:
        """Yield the results; raise BinlogError for a fault that affects a wanted table."""
        for result in results:
            if isinstance(result, Faults):
                for fault in result.batch.to_pylist():
                    if self.wanted.affected(fault):
                        raise _error(fault)
            yield result


def _error(fault: Mapping[str, Any]) -> BinlogError:
    remedy = _STATEMENT if fault["kind"] == STATEMENT_DML else _DAMAGED
    reason, tables = fault["reason"], ", ".join(fault["tables"] or ())
    return BinlogError(
        f"{reason}. {remedy}",
        file=fault["file"],
        position=fault["__pos"],
        event_type=fault["event_type"],
        table=tables if tables and not reason.startswith(tables) else None,
    )


def _changes_in(results: Iterable[Result]) -> Iterator[Changes]:
    return (result for result in results if isinstance(result, Changes))


def _without_rolled_back(results: Iterable[Result]) -> Iterator[Changes]:
    """Hold changes until their transactions follow, which show what was rolled back."""
    held: list[Changes] = []
    for result in results:
        if isinstance(result, Changes):
            held.append(result)
        elif isinstance(result, Transactions):
            yield from (_without(changes, result.batch) for changes in held)
            held = []
    yield from held


def _without(changes: Changes, transactions: pa.RecordBatch) -> Changes:
    """Return the changes without the transactions' rolled-back rows."""
    dropped = np.zeros(changes.batch.num_rows, bool)
    lsns, places, rows = (
        changes.batch.column(name).to_numpy() for name in ("__lsn", "__pos", "__row")
    )
    for column, values in (("rolled_back", places), ("rolled_back_rows", rows)):
        chosen = transactions.filter(pc.is_valid(transactions.column(column)))
        for lsn, spans in zip(
            chosen.column("__lsn").to_pylist(), chosen.column(column).to_pylist(), strict=True
        ):
            for span in spans:
                inside = (values >= span["start"]) & (values < span["end"])
                dropped |= inside & (lsns == lsn)
    return changes.filter(~dropped) if dropped.any() else changes


def _of_xa(changes: Changes, read: LogRange) -> Changes:
    """Return the changes with the rows of XA transactions where these were committed."""
    if not read.xa:
        return changes
    lsns: npt.NDArray[np.int64] = changes.batch.column("__lsn").to_numpy()
    dropped = np.isin(lsns, list(read.xa.uncommitted))
    if dropped.any():
        changes, lsns = changes.filter(~dropped), lsns[~dropped]
    if not np.isin(lsns, list(read.xa.commits)).any():
        return changes
    return Changes(changes.definition, _committed(changes.batch, read.xa), changes.lossy)


def _committed(batch: pa.RecordBatch, xa: XaOutcomes) -> pa.RecordBatch:
    """Return the batch with the LSN, GTID and time of each XA COMMIT instead of its PREPARE."""
    commits = [xa.commits.get(lsn) for lsn in batch.column("__lsn").to_pylist()]
    chosen = pa.array([commit is not None for commit in commits], pa.bool_())
    new = {
        "__lsn": pa.array([commit and commit.lsn for commit in commits], pa.int64()),
        "__gtid": pa.array([commit and commit.gtid for commit in commits], pa.string()),
        "__committed_at": pa.array(
            [commit and commit.committed_at for commit in commits], pa.int64()
        ).cast(schemas.TIMESTAMP),
    }
    for name, values in new.items():
        at = batch.schema.get_field_index(name)
        column = pc.if_else(chosen, values, batch.column(at))
        batch = batch.set_column(at, batch.schema.field(at), column)
    return batch
