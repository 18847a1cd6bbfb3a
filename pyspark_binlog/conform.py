"""Give changes the schema of the DataFrame, whatever definition they were logged under.

Spark checks the schema of a task's first batch only, and reads the buffers of all others by it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types as kinds

from decoder.errors import BinlogError
from decoder.model import Changes
from pyspark_binlog.columns import IMAGES, decimal_text, holds


class ForeignColumnError(BinlogError):
    """A change with a column or a value that the DataFrame's schema has no place for."""


@dataclass(frozen=True)
class Conformer:
    """Conversion of batches of one table to the DataFrame's `schema`.

    `chosen`: the columns that the option `columns` names. A change with another column than those
    of the schema is an error unless that option leaves it out. `exact`: so is one with a column
    whose type Arrow would cast with other values, such as DOUBLE to FLOAT, or text to a number; in
    a schema that the user gave, this is the user's choice.
    """

    schema: pa.Schema
    chosen: Collection[str] | None = None
    exact: bool = False

    def __call__(self, changes: Changes) -> pa.RecordBatch:
        """Return the changes with the schema. Raises ForeignColumnError."""
        batch = changes.batch
        columns = [self._column(field, batch.column(field.name), changes) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _column(self, field: pa.Field, column: pa.Array, changes: Changes) -> pa.Array:
        if column.type == field.type:
            return column
        if field.name in IMAGES:
            return self._image(field, column, changes)
        return column.cast(field.type)

    def _image(self, field: pa.Field, image: pa.StructArray, changes: Changes) -> pa.Array:
        wanted = field.type
        for name in (one.name for one in image.type):
            if wanted.get_field_index(name) < 0 and (self.chosen is None or name in self.chosen):
                reason = f"the change has a column {name}, which the DataFrame's schema lacks"
                raise _refused(changes, reason)
        columns = [self._cells(one, image, changes) for one in wanted]
        return pa.StructArray.from_arrays(columns, fields=list(wanted), mask=image.is_null())

    def _cells(self, wanted: pa.Field, image: pa.StructArray, changes: Changes) -> pa.Array:
        at = image.type.get_field_index(wanted.name)
        if at < 0:
            return pa.nulls(len(image), wanted.type)
        cells = image.field(at)
        if cells.type == wanted.type:
            return cells
        reason = f"column {wanted.name} is {cells.type}, in the schema {wanted.type}"
        if self.exact and not holds(wanted.type, cells.type):
            raise _refused(changes, f"{reason}, which would change values")
        if kinds.is_decimal(cells.type) and kinds.is_string(wanted.type):
            return decimal_text(cells)
        try:
            return cells.cast(wanted.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _refused(changes, f"{reason}: {error}") from error


def _refused(changes: Changes, reason: str) -> ForeignColumnError:
    first = changes.batch.slice(0, 1).select(["__file", "__pos"]).to_pylist()[0]
    return ForeignColumnError(
        f"{reason}. Start the query again, without .schema(…), to read with the log's new schema,"
        " or name the columns to read in the option columns.",
        file=first["__file"],
        position=first["__pos"],
        table=str(changes.definition),
    )
