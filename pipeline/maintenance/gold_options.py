"""Apply the settings under `gold` to existing gold tables; new ones are created with them.

In place: rows and the versions in published snapshots stay. Each clause is due until the table's
log shows that it was applied, so an interrupted run is resumed by the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.gold import GoldState
from pipeline.gold.table.gold_table import gold_schema
from pipeline.gold.table.options import TableOptions, clustering_clause
from pipeline.gold.table.table_metadata import properties_clause
from pipeline.lake.delta_log.column_features import DELETION_VECTORS
from pipeline.lake.delta_log.model import DeltaState
from pipeline.lake.delta_log.spark_written import clustered_by
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.timeline.stored_timeline import read_items

DROP_VECTORS = f"DROP FEATURE {DELETION_VECTORS}"
"""Delta rewrites the files that have deletion vectors, and keeps checkpoints of earlier versions
for readers that know the feature."""


@dataclass(frozen=True, slots=True)
class WantedOptions:
    """A gold table's options in the settings, and the columns by which it is then clustered."""

    options: TableOptions
    clustering: tuple[str, ...]


def wanted_options(run: LayerRun, state: GoldState) -> dict[TableName, WantedOptions]:
    """Return the wanted options of each gold table, without those that its columns do not allow.

    Gold's run holds a table that the settings do not fit.
    """
    settings, types = run.settings, run.settings.type_options
    items = read_items(run.spark, run.lake, run.source)
    definitions = {(item.name, item.version): item.definition for item in items if item.definition}
    found = {}
    for name, table in state.tables.items():
        definition = definitions.get((name, table.version))
        if definition is None:
            continue
        schema = gold_schema(definition, types)
        options = TableOptions.of(settings.gold, str(name)).fitting(schema)
        clustering = options.clustering(schema, table.key or definition.key)
        found[name] = WantedOptions(options, tuple(clustering))
    return found


def clauses(
    run: LayerRun, reference: str, wanted: WantedOptions, state: DeltaState
) -> Iterator[str]:
    """Yield the clauses of ALTER TABLE that are due, in order."""
    before = TableOptions.applied(state.properties)
    others = before.cluster_by != wanted.options.cluster_by
    if others and clustered_by(run.spark, reference) != wanted.clustering:
        yield clustering_clause(wanted.clustering)
    if changes := wanted.options.changes(before):
        yield properties_clause(changes)
    if not wanted.options.deletion_vectors and DELETION_VECTORS in state.features:
        yield DROP_VECTORS
