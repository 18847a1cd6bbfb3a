"""Hash a gold table's rows by their canonical texts, with the definition valid at its version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, functions as sf, types as st

from decoder import TableDefinition
from decoder.constants import ColumnType as T, LogicalType
from pipeline.gold.table.names import OWN_COLUMNS
from pipeline.lake.sql_text import quoted
from pipeline.verify.canonical import (
    BINARY,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    HASH_BYTES,
    INTEGER,
    JSON,
    TEXT,
    TIME,
    CanonicalText,
    canonical,
    key_text,
    row_hash,
)
from pipeline.verify.chunks import FEW, Chunking, ChunkSum, ChunkSums

_BY_DEFINITION: Mapping[T | LogicalType, str] = {
    T.NEWDECIMAL: DECIMAL,
    **dict.fromkeys((T.DATE, T.NEWDATE), DATE),
    **dict.fromkeys((T.DATETIME, T.DATETIME2, T.TIMESTAMP, T.TIMESTAMP2), DATETIME),
    **dict.fromkeys((T.TIME, T.TIME2), TIME),
    T.JSON: JSON,
    **dict.fromkeys(LogicalType, BINARY),
}
"""Types that gold may store as text, or as a number with another meaning."""
_BY_SPARK: tuple[tuple[type[st.DataType], str], ...] = (
    (st.StringType, TEXT),
    (st.DecimalType, INTEGER),
    (st.FractionalType, DOUBLE),
    (st.DateType, DATE),
    (st.TimestampType, DATETIME),
    (st.TimestampNTZType, DATETIME),
    (st.BinaryType, BINARY),
    (st.StructType, BINARY),
    (st.ArrayType, BINARY),
    (st.IntegralType, INTEGER),
    (st.BooleanType, INTEGER),
)
LIMBS = tuple(f"limb{n}" for n in range(HASH_BYTES // 4))
"""The base 2³² digits of a sum of hashes, lowest first, since Spark has no larger integers."""
SUMS = ", ".join(["chunk int", "rows bigint", *(f"{limb} bigint" for limb in LIMBS)])
COLLECTED = 100_000
"""The most chunk sums that are collected to the driver without an aggregation in Spark."""
KEYED = "hash binary, key string"

RecordBatches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class GoldColumn:
    """A source column in gold, and its kind (see `canonical`)."""

    name: str
    kind: str


def gold_columns(schema: st.StructType, definition: TableDefinition) -> list[GoldColumn]:
    """Return the source's columns in gold, in order, with their kinds by the definition."""
    types = {column.name: column.logical or column.type for column in definition.columns}
    return [
        GoldColumn(field.name, _kind(types.get(field.name), field.dataType))
        for field in schema.fields
        if field.name not in OWN_COLUMNS
    ]


def _kind(defined: T | LogicalType | None, stored: st.DataType) -> str:
    if defined is not None and defined in _BY_DEFINITION:
        return _BY_DEFINITION[defined]
    return next(kind for types, kind in _BY_SPARK if isinstance(stored, types))


def sums(rows: DataFrame, columns: Sequence[GoldColumn], chunking: Chunking) -> DataFrame:
    """Return each chunk's number of rows and sum of hashes (`SUMS`).

    With few chunks these are partial sums, one for each partition, at most `COLLECTED` in all.
    """
    summed = _Sums([column.kind for column in columns], chunking)
    if chunking.parts <= FEW:
        # Most tables are small, and an aggregation in Spark costs more than reading them.
        return _mapped(rows.coalesce(COLLECTED // chunking.parts), columns, summed, SUMS)
    found = _mapped(rows, columns, summed, SUMS)
    return found.groupBy("chunk").agg(*(sf.sum(name).alias(name) for name in ("rows", *LIMBS)))


def chunk_sums(found: DataFrame) -> dict[int, ChunkSum]:
    """Collect the result of `sums`: the sum of each chunk that has rows."""
    joined = ChunkSums()
    for piece in found.collect():
        total = sum(piece[limb] << 32 * n for n, limb in enumerate(LIMBS))
        joined.join(piece["chunk"], piece["rows"], total)
    return dict(joined)


def keyed(
    rows: DataFrame,
    columns: Sequence[GoldColumn],
    chunking: Chunking,
    chunks: Collection[int] | None = None,
) -> DataFrame:
    """Return the hash and the key of each row in these chunks (None: in all), as in `KEYED`.

    The key is JSON as in the server's file; of a keyless table the row, long values truncated.
    """
    wanted = None if chunks is None else frozenset(chunks)
    keys = _Keyed([column.kind for column in columns], chunking, wanted)
    return _mapped(rows, columns, keys, KEYED)


def _mapped(
    rows: DataFrame,
    columns: Sequence[GoldColumn],
    function: Callable[[RecordBatches], Iterator[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    # Rename the columns: PySpark does not quote the original names.
    chosen = [sf.col(quoted(column.name)).alias(f"c{n}") for n, column in enumerate(columns)]
    return rows.select(*chosen).mapInArrow(function, schema)


def _texts(kinds: Sequence[str], batch: pa.RecordBatch) -> Iterator[Sequence[CanonicalText]]:
    """Yield the canonical texts of each row."""
    columns = (
        list(map(canonical(kind), column.to_pylist()))
        for kind, column in zip(kinds, batch.columns, strict=True)
    )
    return zip(*columns, strict=True)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Mapper of Arrow batches to a row for each chunk: number of rows, and sum of their hashes."""

    kinds: Sequence[str]
    chunking: Chunking

    def __call__(self, batches: RecordBatches) -> Iterator[pa.RecordBatch]:
        sums = ChunkSums()
        for batch in batches:
            for texts in _texts(self.kinds, batch):
                digest = row_hash(texts)
                sums.add(self.chunking.chunk(texts, digest), digest)
        found = dict(sums)
        columns = {
            "chunk": pa.array(list(found), pa.int32()),
            "rows": pa.array([one.rows for one in found.values()], pa.int64()),
        }
        for n, limb in enumerate(LIMBS):
            digits = [one.total >> 32 * n & 0xFFFFFFFF for one in found.values()]
            columns[limb] = pa.array(digits, pa.int64())
        yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Mapper of Arrow batches to the hashes and keys of the rows in the wanted chunks."""

    kinds: Sequence[str]
    chunking: Chunking
    wanted: frozenset[int] | None

    def __call__(self, batches: RecordBatches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [
                (digest, self._key(texts))
                for texts in _texts(self.kinds, batch)
                if self._is_wanted(texts, digest := row_hash(texts))
            ]
            yield pa.RecordBatch.from_pydict(
                {
                    "hash": pa.array([digest for digest, _ in found], pa.binary()),
                    "key": pa.array([key for _, key in found], pa.string()),
                }
            )

    def _is_wanted(self, texts: Sequence[CanonicalText], digest: bytes) -> bool:
        return self.wanted is None or self.chunking.chunk(texts, digest) in self.wanted

    def _key(self, texts: Sequence[CanonicalText]) -> str:
        key = self.chunking.key
        return key_text([texts[n] for n in key] or texts, shorten=not key)
