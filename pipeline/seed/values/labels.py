"""Read printed ENUM and SET values: labels of the column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from decoder.columns.cells import Column
from decoder.columns.enums import label_reader
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.seed.values.cell_bytes import refuse
from pipeline.seed.values.numbers import texts


@dataclass(frozen=True, slots=True)
class LabelsReader:
    """Reader of labels; `known` returns True if a text is a valid value of the column."""

    arrow_type: pa.DataType
    known: Callable[[str], bool]
    reason: str

    def read(self, printed: pa.Array) -> Column:
        """Return the texts unchanged."""
        text = texts(printed, self.reason)
        different = pc.unique(text.drop_null())
        unknown = [one for one in different.to_pylist() if not self.known(one)]
        if unknown:
            refuse(pc.is_in(text, pa.array(unknown, pa.string())), self.reason)
        return Column(text)


def printed_labels(column: ColumnDefinition) -> LabelsReader:
    """Return the reader of ENUM or SET. Raises UnsupportedError if its labels are unknown."""
    kind = label_reader(column).arrow_type
    # The empty text is an ENUM's error value (index 0), and a SET without members.
    labels = frozenset((*column.labels, ""))
    if column.type == ColumnType.ENUM:
        return LabelsReader(kind, labels.__contains__, "it is not a label of the ENUM")
    return LabelsReader(
        kind, lambda text: labels.issuperset(text.split(",")), "it has unknown members of the SET"
    )
