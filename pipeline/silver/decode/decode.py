"""Decode bronze's segments into rows by target, in tasks.

The input is rows of `SEGMENT_COLUMNS`, in which the parts of a segment are consecutive. Only one
segment's bytes are in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoder import Segment, SegmentDecoder, TableDefinition, TypeOptions, schemas
from decoder.model import Changes, Faults, Result, Statements, TableFilter, Transactions
from decoder.segments import server_version
from decoder.transactions import STATEMENT_DML
from pipeline.schema_history import TableName
from pipeline.silver.decode.splitter import SEEN_BEFORE, SegmentStart, Splitter, with_seen_before
from pipeline.silver.decode.statement_faults import NamedTables
from pipeline.silver.decode.table_names import TableNames

_OFFSETS = {pa.binary(): np.int32, pa.large_binary(): np.int64}
SEGMENT_COLUMNS = (
    "file",
    "ordinal",
    "start_pos",
    "part",
    "transaction_pos",
    "preamble",
    "content",
)

TRANSACTIONS = "transactions"
PARTS = "transaction_parts"
STATEMENTS = "statements"
FAULTS = "faults"
LOSSY = "lossy"
"""Targets of rows other than the tables' changes."""

STAGED_TRANSACTIONS = schemas.TRANSACTIONS.append(SEEN_BEFORE)
STAGED_FAULTS = pa.schema(
    [*schemas.FAULTS, pa.field("ordinal", pa.int64()), pa.field("start_pos", pa.int64())]
)
"""A fault, with the segment that it is in."""

LOSSY_COUNTS = pa.schema(
    [
        # schema.table
        pa.field("table", pa.string()),
        pa.field("column", pa.string()),
        # how many are not as they were logged, in before or after images
        pa.field("values", pa.int64()),
    ]
)

OFFSET_BITS = 40
"""The lower bits of an LSN: the offset in the file."""


def table_target(table_id: int) -> str:
    """Return the target of a table's changes."""
    return f"changes-{table_id}"


@dataclass(frozen=True)
class Decode:
    """A decoder of whole segments into batches by target.

    `table_ids`: fingerprint of a definition → the plan's number for its table. `only`: segment →
    its quarantined transactions; if given, only their changes and remaining faults are yielded, and
    all changes of tables in `again` except those of the transactions in `passed`. `seen`: see
    `Splitter`; of these transactions only the fact that they were logged is yielded. `names`
    identifies tables whose names the log lacks. `lower_case`: the server's table names are in lower
    case.
    """

    types: TypeOptions
    wanted: TableFilter
    table_ids: Mapping[str, int]
    only: Mapping[tuple[int, int], frozenset[int]] | None = None
    seen: Mapping[SegmentStart, str] = field(default_factory=dict)
    lower_case: bool = False
    names: TableNames = field(default_factory=TableNames)
    again: frozenset[str] = frozenset()
    passed: tuple[int, ...] = ()

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield batches of all segments in `rows`, each with its target."""
        ids: dict[TableDefinition, int | None] = {}
        splitter = Splitter(self.seen)
        for segment, parts in segments_in(rows):
            split = splitter.split(segment, parts)
            if split.seen is not None:
                yield from _whole_and_parts(segment, with_seen_before(split.seen, seen=True))
            for piece, content in split.pieces:
                for result in self.results(piece, content):
                    yield from self._targets(segment, result, ids)

    def results(self, piece: Segment, parts: Iterator[pa.Buffer]) -> Iterator[Result]:
        """Yield the decoder's results, with the tables of faults that are statements.

        `parts` has at least one.
        """
        first = next(parts)
        named = NamedTables(server_of(piece, first), lower_case=self.lower_case)
        decoder = SegmentDecoder(piece, self.types, wanted=self.wanted, names=self.names)
        for result in decoder.decode(chain([first], parts)):
            if isinstance(result, Statements):
                named.note(result.batch)
            elif isinstance(result, Faults):
                result = Faults(named.name(result.batch))
            yield result

    def _targets(
        self, segment: Segment, result: Result, ids: dict[TableDefinition, int | None]
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        if isinstance(result, Changes):
            yield from self._changes(segment, self._selected(segment, result), ids)
        elif self.only is not None and not isinstance(result, Faults):
            return
        elif isinstance(result, Transactions):
            yield from _whole_and_parts(segment, with_seen_before(result.batch, seen=False))
        elif isinstance(result, Statements):
            yield STATEMENTS, result.batch
        elif isinstance(result, Faults):
            yield FAULTS, _staged(segment, self._wanted_faults(result.batch))

    def _changes(
        self, segment: Segment, changes: Changes, ids: dict[TableDefinition, int | None]
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        definition = changes.definition
        if definition not in ids:
            ids[definition] = self.table_ids.get(definition.fingerprint())
        table_id = ids[definition]
        if table_id is None:
            yield FAULTS, _staged(segment, _unplanned(definition, changes.batch))
        else:
            yield table_target(table_id), changes.batch
            yield LOSSY, _lossy_counts(changes)

    def _wanted_faults(self, faults: pa.RecordBatch) -> pa.RecordBatch:
        """Keep the faults of wanted tables, and of all statements: these may change other
        tables."""
        statements = pc.equal(faults.column("kind"), STATEMENT_DML)
        others = of_wanted_tables(faults.filter(pc.invert(statements)), self.wanted)
        return pa.concat_batches([others, faults.filter(statements)])

    def _selected(self, segment: Segment, changes: Changes) -> Changes:
        if self.only is None:
            return changes
        lsns = changes.batch.column("__lsn").to_numpy()
        if str(changes.definition) in self.again:
            return changes.filter(~np.isin(lsns, self.passed))
        held = sorted(self.only[segment.ordinal, segment.start_pos])
        return changes.filter(np.isin(lsns, held))


def server_of(segment: Segment, first: pa.Buffer) -> str:
    """Return the version of the server that wrote a segment; `first` is its first part."""
    return server_version(bytes(segment.preamble) or bytes(memoryview(first)[:128]))


def segments_in(
    rows: Iterable[pa.RecordBatch],
) -> Iterator[tuple[Segment, Iterator[pa.Buffer]]]:
    """Yield each segment with its parts, which must be read before the next segment."""
    keyed = (
        (_segment_of(batch, i), _cell(batch.column("content"), i))
        for batch in rows
        for i in range(batch.num_rows)
    )
    for segment, parts in groupby(keyed, key=lambda pair: pair[0]):
        yield segment, (content for _, content in parts)


def _cell(column: pa.Array, row: int) -> pa.Buffer:
    """Return a cell's bytes without the copy that its scalar would make.

    Spark uses offsets of eight bytes if `spark.sql.execution.arrow.useLargeVarTypes` is set.
    """
    _, offsets, data = column.buffers()
    start, end = np.frombuffer(offsets, _OFFSETS[column.type])[column.offset + row :][:2].tolist()
    return data.slice(start, end - start)


def _segment_of(batch: pa.RecordBatch, row: int) -> Segment:
    def value(name: str) -> Any:
        return batch.column(name)[row].as_py()

    return Segment(
        file=value("file"),
        ordinal=value("ordinal"),
        start_pos=value("start_pos"),
        transaction_pos=value("transaction_pos"),
        preamble=value("preamble") or b"",
    )


def _lossy_counts(changes: Changes) -> pa.RecordBatch:
    """Return a row of `LOSSY_COUNTS` per lossy column and image."""
    return pa.RecordBatch.from_pylist(
        [
            {"table": str(changes.definition), "column": lossy.column, "values": len(lossy.rows)}
            for lossy in changes.lossy
            if len(lossy.rows)
        ],
        schema=LOSSY_COUNTS,
    )


def _whole_and_parts(
    segment: Segment, batch: pa.RecordBatch
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Separate transactions within the segment from parts of transactions.

    A part begins where the segment does, or later.
    """
    start = segment.ordinal << OFFSET_BITS | segment.start_pos
    begins = pc.greater_equal(batch.column("__lsn"), start)
    whole = pc.and_(begins, pc.is_valid(batch.column("end_pos")))
    yield TRANSACTIONS, batch.filter(whole)
    parts = batch.filter(pc.invert(whole))
    at = parts.schema.get_field_index("start_pos")
    begun = pc.max_element_wise(parts.column(at), segment.start_pos)
    yield PARTS, parts.set_column(at, parts.schema.field(at), begun)


def of_wanted_tables(
    faults: pa.RecordBatch | pa.Table, wanted: TableFilter
) -> pa.RecordBatch | pa.Table:
    """Return the faults of wanted tables, and only those tables' names."""

    def counts(text: str) -> bool:
        name = TableName.read(text)
        return wanted(name.schema, name.table)

    tables = [
        None if names is None else list(filter(counts, names))
        for names in faults.column("tables").to_pylist()
    ]
    index = faults.schema.get_field_index("tables")
    column = pa.array(tables, pa.list_(pa.string()))
    kept = faults.set_column(index, faults.schema.field(index), column)
    return kept.filter(pa.array([names is None or bool(names) for names in tables], pa.bool_()))


def _staged(segment: Segment, faults: pa.RecordBatch) -> pa.RecordBatch:
    places = [
        pa.array([value] * faults.num_rows, pa.int64())
        for value in (segment.ordinal, segment.start_pos)
    ]
    return pa.RecordBatch.from_arrays([*faults.columns, *places], schema=STAGED_FAULTS)


def _unplanned(definition: TableDefinition, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return faults for changes under a definition that the survey did not see.

    One for each transaction, at its first change.
    """
    first = dict(
        reversed(list(zip(batch.column("__lsn").to_pylist(), range(batch.num_rows), strict=True)))
    )
    rows = batch.select(["__lsn", "__pos", "__file"]).take(
        pa.array(list(first.values()), pa.int64())
    )
    return pa.RecordBatch.from_pylist(
        [
            {
                "__lsn": row["__lsn"],
                "__pos": row["__pos"],
                "file": row["__file"],
                "kind": "undecodable",
                "tables": [str(definition)],
                "reason": "its table map was not seen when the batch was planned",
            }
            for row in rows.to_pylist()
        ],
        schema=schemas.FAULTS,
    )
