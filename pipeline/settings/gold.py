"""Settings of gold's tables for their readers: deletion vectors, change data feed, clustering."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pipeline.settings.values import Model, TablePattern, TablePatterns

CLUSTERING_COLUMNS = 4
"""The most columns by which Delta clusters a table."""


def _distinct(columns: tuple[str, ...]) -> tuple[str, ...]:
    for column in columns:
        if columns.count(column) > 1:
            raise ValueError(f"{column} is named twice")
    return columns


ClusterBy = Annotated[
    dict[
        TablePattern,
        Annotated[
            tuple[str, ...],
            Field(
                min_length=1,
                max_length=CLUSTERING_COLUMNS,
                description="a list of one to four columns",
                examples=["[customer, ordered_at]"],
            ),
            AfterValidator(_distinct),
        ],
    ],
    Field(
        description="for each table a list of one to four columns",
        examples=["{shop.orders: [customer, ordered_at]}"],
    ),
]


class GoldSettings(Model):
    """Storage of gold's tables for their readers. The next `binlake maintain` applies a change to
    existing tables."""

    readers: Literal["fast", "any"] = "fast"
    """Readers that gold's tables support: `fast`, those that know deletion vectors, which make
    small changes to large tables cheap; `any`, all others too: every change rewrites the files that
    it touches."""
    change_data_feed: TablePatterns = ()
    """Tables that record row changes in Delta's change data feed, as patterns over
    `schema.table`."""
    cluster_by: ClusterBy = Field(default_factory=dict)
    """Columns to cluster a table by, at most four, by pattern over `schema.table`. Other tables are
    clustered by their key. A table is held if it lacks a column, or if Delta does not cluster by
    it."""
