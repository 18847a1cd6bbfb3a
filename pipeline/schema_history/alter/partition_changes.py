"""Apply the partition actions of an ALTER TABLE: rows removed, and the new partitioning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from decoder import TableDefinition, TypeOptions
from pipeline.schema_history.ddl.actions import (
    Action,
    AddPartitions,
    DropPartitions,
    PartitionAction,
    ReorganizePartitions,
    Repartition,
    RowsNotLogged,
    TruncatePartitions,
)
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.ddl.partition_clause import COPY_REMEDY
from pipeline.schema_history.ddl.partitions import Partitioning, UnknownPartitionRowsError

_UNKNOWN_PARTITIONING = (
    "its partitioning is not in the log, or is not by RANGE or LIST of one column"
)


def partition_changes(
    table: TableDefinition,
    model: TableModel | None,
    actions: Sequence[Action],
    types: TypeOptions,
) -> dict[str, Any]:
    """Return the fields of an `Alteration` that partition actions set.

    These are `model`, `gone` and `not_logged`. `table` is the definition before the statement.
    """
    found: dict[str, Any] = {}
    for action in actions:
        if isinstance(action, RowsNotLogged):
            found["not_logged"] = action.reason
        elif isinstance(action, (DropPartitions, TruncatePartitions)):
            found.update(_rows(table, model, action, types))
        if model is not None and isinstance(action, PartitionAction):
            model = replace(model, partitioning=_after(model.partitioning, action))
            found["model"] = model
    return found


def _rows(
    table: TableDefinition,
    model: TableModel | None,
    action: DropPartitions | TruncatePartitions,
    types: TypeOptions,
) -> dict[str, Any]:
    verb = "DROP" if isinstance(action, DropPartitions) else "TRUNCATE"
    try:
        if model is None or model.partitioning is None:
            raise UnknownPartitionRowsError(_UNKNOWN_PARTITIONING)
        names = action.names
        if isinstance(action, DropPartitions) and action.if_exists:
            names = model.partitioning.known(action.names)
            if not names:
                return {}
        return {"gone": model.partitioning.rows(names, table, types)}
    except UnknownPartitionRowsError as error:
        which = f"which rows {verb} PARTITION removes is not in the log"
        reason = f"{which}: {error}{COPY_REMEDY}"
        return {"not_logged": reason}


def _after(partitioning: Partitioning | None, action: PartitionAction) -> Partitioning | None:
    if isinstance(action, Repartition):
        return action.partitioning
    if partitioning is None:
        return None
    if isinstance(action, DropPartitions):
        return partitioning.without(action.names)
    if isinstance(action, AddPartitions):
        if action.if_not_exists and partitioning.known(p.name for p in action.partitions):
            return partitioning
        return replace(partitioning, partitions=(*partitioning.partitions, *action.partitions))
    if isinstance(action, ReorganizePartitions):
        return partitioning.reorganized(action.names, action.partitions)
    return partitioning
