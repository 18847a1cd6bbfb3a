"""Delta table features that a table's columns need, and the properties that enable them.

A table has only those that it needs, since readers refuse a table with a feature that they do not
know. Both can be enabled on an existing table, in place. See Delta's PROTOCOL.md, "Column Mapping"
and "Timestamp without timezone".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

COLUMN_MAPPING, WALL_CLOCKS = "columnMapping", "timestampNtz"
"""Column mapping stores a column under another name in files: for names that Parquet refuses, and
to rename and drop columns by metadata. The other is required for TIMESTAMP_NTZ, MySQL's
DATETIME."""
FOR_MAPPING = frozenset({COLUMN_MAPPING, WALL_CLOCKS})
"""The features of a gold table with mapped columns. With column mapping alone, its protocol would
have reader version 2, which lists no features: delta-rs's pyarrow reader (1.6) then does not refuse
the table, and returns NULL for every column that has another name in the files."""
DELETION_VECTORS = "deletionVectors"
MAPPING_MODE = "delta.columnMapping.mode"

_PROPERTIES = {
    COLUMN_MAPPING: (MAPPING_MODE, "name"),
    WALL_CLOCKS: (f"delta.feature.{WALL_CLOCKS}", "supported"),
}
_REFUSED = re.compile(r"[ ,;{}()\n\t=]")
"""Characters that Delta rejects in column names, unless column mapping is on."""


def needs_mapping(names: Iterable[str]) -> bool:
    """Return True if one of these column names requires column mapping."""
    return any(_REFUSED.search(name) for name in names)


def enabling(features: Iterable[str]) -> dict[str, str]:
    """Return the table properties that enable these features."""
    return dict(_PROPERTIES[feature] for feature in features)


def enabled(supported: Iterable[str], properties: Mapping[str, str]) -> frozenset[str]:
    """Return a table's features by its protocol, with column mapping by its mode.

    A protocol without a list of features may support column mapping as well, and one that lists it
    may have it off.
    """
    others = frozenset(supported) - {COLUMN_MAPPING}
    is_mapped = properties.get(MAPPING_MODE, "none") != "none"
    return others | {COLUMN_MAPPING} if is_mapped else others
