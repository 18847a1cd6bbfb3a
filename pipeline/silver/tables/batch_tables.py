"""Commit one batch of silver: the files of its tasks, with one step per table."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from decoder.errors import UnsupportedError
from pipeline.lake.delta_log.table import LakeTable, Step
from pipeline.lake.files.target_writer import Destination, Written
from pipeline.lake.tables.opening import tables_of
from pipeline.lake.tables.tables import Tables
from pipeline.layer import LayerRun
from pipeline.silver.decode.decode import (
    FAULTS,
    STAGED_FAULTS,
    STATEMENTS,
    TRANSACTIONS,
    table_target,
)
from pipeline.silver.decode.silver_tables import (
    changes_app,
    changes_table,
    committer,
    statements_table,
    transactions_table,
)
from pipeline.silver.plan.batch_plan import PlannedTable, SilverPlan, by_table_id


@dataclass(frozen=True, slots=True)
class Target:
    """A table that a batch may append to: its writer, application name, and destination."""

    tables: Tables
    app: str
    destination: Destination


def targets_of(run: LayerRun, plan: SilverPlan, batch: int, scratch: str) -> Mapping[str, Target]:
    """Return the tables of a plan, by target.

    Files that Spark appends are written to the batch's `scratch` folder, which a later run clears
    if this one dies. A table with a column that cannot be decoded is not included: all of its
    changes are faults.
    """
    lake, source = run.lake, run.source
    tables = tables_of(run.spark, lake)
    placed = {"source": source, "batch": batch}

    def target(app: str, table: LakeTable, constants: Mapping[str, object]) -> Target:
        by = committer(run.spark, tables, table)
        own = by.folder(table)
        folder = own if own == table.reference else f"{scratch}/{uuid.uuid4().hex}"
        return Target(by, app, Destination(folder, table, constants))

    found = {
        TRANSACTIONS: target(f"silver/{source}/{TRANSACTIONS}", transactions_table(lake), placed),
        STATEMENTS: target(f"silver/{source}/{STATEMENTS}", statements_table(lake), placed),
    }
    for table_id, planned in by_table_id(plan.tables).items():
        definition, version = planned.definition, planned.version
        app = changes_app(source, definition.schema, definition.table, version)
        try:
            table = changes_table(lake, definition, version, run.settings.type_options)
        except UnsupportedError:
            continue
        found[table_target(table_id)] = target(app, table, {})
    return found


def destinations(targets: Mapping[str, Target], scratch: str) -> Mapping[str, Destination]:
    """Return where tasks write; faults go to `scratch`, until all of them are known."""
    faults = Destination(scratch, LakeTable(scratch, STAGED_FAULTS))
    return {name: target.destination for name, target in targets.items()} | {FAULTS: faults}


def commit(run: LayerRun, decoded: Written, targets: Mapping[str, Target], batch: int) -> None:
    """Append to every table its files and rows."""
    names = [name for name in targets if name in decoded.files or name in decoded.rest]

    def add(name: str) -> None:
        target = targets[name]
        step = Step(target.app, batch)
        table = target.destination.table
        rest, files = decoded.rest.get(name), decoded.files.get(name, ())
        target.tables.append(table, rest, step, files)
        task.advance()

    with (
        run.progress.task("write silver tables", len(names), "tables") as task,
        ThreadPoolExecutor(run.settings.parallel_tables) as pool,
    ):
        # list() raises the first error of any of them
        list(pool.map(add, names))


def touched(plan: SilverPlan, counts: Mapping[str, int]) -> dict[int, PlannedTable]:
    """Return the tables that a batch has changes of, by their number in the plan."""
    return {
        table_id: table
        for table_id, table in by_table_id(plan.tables).items()
        if counts.get(table_target(table_id))
    }


def rows_by_table(plan: SilverPlan, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the number of changes per table, by `schema.table`."""
    rows: dict[str, int] = {}
    for table_id, table in touched(plan, counts).items():
        name = str(table.definition)
        rows[name] = rows.get(name, 0) + counts[table_target(table_id)]
    return rows
