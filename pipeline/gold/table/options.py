"""Storage options of one gold table for its readers, from the settings under `gold`.

A table's property records the options that were applied to it last. So a changed setting is applied
once, and later changes by others are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlencode

from pyspark.sql import types as st

from pipeline.lake.sql_text import quoted
from pipeline.settings.gold import CLUSTERING_COLUMNS, GoldSettings
from pipeline.settings.settings import key_given, matches

VECTORS = "delta.enableDeletionVectors"
"""Measured: a MERGE of 1 % of a million rows takes 2.2 s with them, 4.1 s without."""
_FEED = "delta.enableChangeDataFeed"
OPTIONS = "binlake.options"
"""The table property with the options that were applied last; a table without it has the
defaults."""
CLUSTERING_TYPES = (
    st.NumericType,
    st.DateType,
    st.TimestampType,
    st.TimestampNTZType,
    st.StringType,
)
INDEXED_COLUMNS = 32
"""Delta has statistics for the first 32 columns, and clusters only by columns that have them."""
FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
"""Columns that Delta adds to the rows of a change data feed."""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """A table's options. `cluster_by`: the columns in the settings; if there are none, the table is
    clustered by its key."""

    deletion_vectors: bool = True
    change_data_feed: bool = False
    cluster_by: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: GoldSettings, name: str) -> TableOptions:
        """Return the options of `schema.table` in the settings."""
        feed = settings.change_data_feed
        return cls(
            deletion_vectors=settings.readers == "fast",
            change_data_feed=bool(feed) and matches(name, feed),
            cluster_by=key_given(settings.cluster_by, name),
        )

    @classmethod
    def applied(cls, properties: Mapping[str, str]) -> TableOptions:
        """Return the options that were applied to a table last, from its properties."""
        found = parse_qs(properties.get(OPTIONS, ""))
        return cls(
            deletion_vectors=found.get("deletion_vectors") != ["false"],
            change_data_feed=found.get("change_data_feed") == ["true"],
            cluster_by=tuple(found.get("cluster_by", ())),
        )

    @property
    def initial_properties(self) -> dict[str, str]:
        """The table properties to create a table with."""
        return {VECTORS: _text(self.deletion_vectors), **self.changes(TableOptions())}

    def changes(self, before: TableOptions) -> dict[str, str]:
        """Return the table properties to set on a table with the options `before`."""
        if self == before:
            return {}
        had = before._properties
        found = {name: value for name, value in self._properties.items() if had[name] != value}
        return {**found, **self.record}

    @property
    def record(self) -> dict[str, str]:
        """The table property that records the options, as text that needs no quoting in SQL."""
        values = {
            "deletion_vectors": _text(self.deletion_vectors),
            "change_data_feed": _text(self.change_data_feed),
            "cluster_by": self.cluster_by,
        }
        return {OPTIONS: urlencode(values, doseq=True)}

    def misfit(self, schema: st.StructType) -> str | None:
        """Return why a table with this schema cannot have the options, and the remedy; or None."""
        return self._feed_misfit(schema) or self._clustering_misfit(schema)

    def fitting(self, schema: st.StructType) -> TableOptions:
        """Return the options without those that do not fit the schema."""
        return replace(
            self,
            change_data_feed=self.change_data_feed and not self._feed_misfit(schema),
            cluster_by=() if self._clustering_misfit(schema) else self.cluster_by,
        )

    def clustering(self, schema: st.StructType, key: tuple[str, ...]) -> list[str]:
        """Return at most four columns to cluster a table by.

        Those in the settings, if they fit the schema, otherwise those of the key by which Delta can
        cluster.
        """
        asked = self.fitting(schema).cluster_by
        by = asked or [name for name in key if _not_clustered(schema, name) is None]
        return list(by[:CLUSTERING_COLUMNS])

    @property
    def _properties(self) -> dict[str, str]:
        return {VECTORS: _text(self.deletion_vectors), _FEED: _text(self.change_data_feed)}

    def _feed_misfit(self, schema: st.StructType) -> str | None:
        if not self.change_data_feed:
            return None
        taken = [name for name in schema.names if name.lower() in FEED_COLUMNS]
        if not taken:
            return None
        reason = f"its column {taken[0]} has the name of a column of Delta's change data feed"
        return f"{reason}; leave the table out of gold.change_data_feed in the settings"

    def _clustering_misfit(self, schema: st.StructType) -> str | None:
        for name in self.cluster_by:
            if why := _not_clustered(schema, name):
                reason = f"gold.cluster_by in the settings names {name}, {why}"
                return f"{reason}; correct or remove it there, and run again"
        return None


def clustering_clause(columns: Sequence[str]) -> str:
    """Return the clause of ALTER TABLE that clusters a table by these columns, or by none."""
    return f"CLUSTER BY ({', '.join(map(quoted, columns))})" if columns else "CLUSTER BY NONE"


def _not_clustered(schema: st.StructType, name: str) -> str | None:
    """Return why Delta cannot cluster a table by a column, or None."""
    leaves = 0
    for field in schema.fields:
        kind = field.dataType
        leaves += len(kind.fields) if isinstance(kind, st.StructType) else 1
        if field.name != name:
            continue
        if not isinstance(kind, CLUSTERING_TYPES):
            return f"by whose type ({kind.simpleString()}) Delta does not cluster"
        if leaves > INDEXED_COLUMNS:
            return f"which is not among the first {INDEXED_COLUMNS} columns, as Delta requires"
        return None
    return "which the table does not have"


def _text(value: bool) -> str:
    return str(value).lower()
