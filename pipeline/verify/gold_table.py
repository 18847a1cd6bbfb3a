"""A gold table's rows as canonical texts, by its Delta version and the definition it has then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, functions as sf, types as st

from decoder.constants import ColumnType as T
from decoder.definition import TableDefinition
from pipeline.gold.names import OWN_COLUMNS
from pipeline.sql_text import quoted
from pipeline.verify.canonical import (
    BINARY,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    JSON,
    TEXT,
    TIME,
    Text,
    canonical,
    key_text,
    row_hash,
)

_BY_DEFINITION = {
    T.NEWDECIMAL: DECIMAL,
    **dict.fromkeys((T.DATE, T.NEWDATE), DATE),
    **dict.fromkeys((T.DATETIME, T.DATETIME2, T.TIMESTAMP, T.TIMESTAMP2), DATETIME),
    **dict.fromkeys((T.TIME, T.TIME2), TIME),
    T.JSON: JSON,
}
"""Types that gold may keep as text, or as a number that means something else."""
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
SUMS = "rows bigint, total binary"
KEYED = "hash string, key string"

Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class GoldColumn:
    """A column of the source's in gold, and its kind (see `canonical`)."""

    name: str
    kind: str


def gold_columns(schema: st.StructType, definition: TableDefinition) -> list[GoldColumn]:
    """The source's columns in gold, in order, with the kinds that their definitions tell."""
    types = {column.name: column.type for column in definition.columns}
    return [
        GoldColumn(field.name, _kind(types.get(field.name), field.dataType))
        for field in schema.fields
        if field.name not in OWN_COLUMNS
    ]


def _kind(defined: T | None, stored: st.DataType) -> str:
    if defined in _BY_DEFINITION:
        return _BY_DEFINITION[defined]
    return next(kind for types, kind in _BY_SPARK if isinstance(stored, types))


def sums(rows: DataFrame, columns: Sequence[GoldColumn]) -> DataFrame:
    """For each of the table's pieces its number of rows, and the sum of their hashes (`SUMS`)."""
    return _mapped(rows, columns, _Sum([column.kind for column in columns]), SUMS)


def keyed(rows: DataFrame, columns: Sequence[GoldColumn], key: Sequence[str]) -> DataFrame:
    """Each row's hash in hexadecimal, and its key as the snapshot has it (`KEYED`).

    Without `key` that is the row, long values cut.
    """
    names = [column.name for column in columns]
    places = [names.index(name) for name in key]
    return _mapped(rows, columns, _Keyed([column.kind for column in columns], places), KEYED)


def _mapped(
    rows: DataFrame,
    columns: Sequence[GoldColumn],
    function: Callable[[Batches], Iterator[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    # Under names of ours: PySpark does not quote the ones that it finds.
    chosen = [sf.col(quoted(column.name)).alias(f"c{n}") for n, column in enumerate(columns)]
    return rows.select(*chosen).mapInArrow(function, schema)


def _texts(kinds: Sequence[str], batch: pa.RecordBatch) -> Iterator[Sequence[Text]]:
    """The canonical texts of each row."""
    columns = (
        list(map(canonical(kind), column.to_pylist()))
        for kind, column in zip(kinds, batch.columns, strict=True)
    )
    return zip(*columns, strict=True)


@dataclass(frozen=True, slots=True)
class _Sum:
    """Rows of Arrow to one row: their number, and the sum of their hashes."""

    kinds: Sequence[str]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        rows = total = 0
        for batch in batches:
            rows += batch.num_rows
            hashes = map(row_hash, _texts(self.kinds, batch))
            total += sum(int.from_bytes(digest, "big") for digest in hashes)
        # More than 128 bits by as many as the number of rows has.
        data = total.to_bytes(24, "big")
        yield pa.RecordBatch.from_pydict({"rows": [rows], "total": pa.array([data], pa.binary())})


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Rows of Arrow to their hashes and keys."""

    kinds: Sequence[str]
    places: Sequence[int]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = list(_texts(self.kinds, batch))
            hashes = [row_hash(texts).hex() for texts in rows]
            keys = [self._key(texts) for texts in rows]
            yield pa.RecordBatch.from_pydict(
                {"hash": pa.array(hashes, pa.string()), "key": pa.array(keys, pa.string())}
            )

    def _key(self, texts: Sequence[Text]) -> str:
        return key_text([texts[n] for n in self.places] or texts, cut=not self.places)
