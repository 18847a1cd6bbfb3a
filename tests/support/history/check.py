"""Compare gold with the server after a history.

Each table must be equal at the published snapshot, or held for a reason that the history allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession, functions as sf

from pipeline.gold import GoldState
from pipeline.gold.table.state import TableState
from pipeline.lake import Lake, Ledger, delta
from pipeline.run import read_status
from pipeline.settings import Settings
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.history.apply import SOURCE, lake_of
from tests.support.history.model import HELD, Step
from tests.support.servers.server import Server


class UnequalError(AssertionError):
    """Gold differs from the server's SELECT; the message contains how to reproduce it."""


def check(
    spark: SparkSession, server: Server, folder: Path, histories: Mapping[str, Sequence[Step]]
) -> int:
    """Compare all tables of these schemas and return how many were equal.

    Raises `UnequalError` listing every table that is neither equal nor held for an allowed reason.
    """
    lake = str(lake_of(folder))
    status = read_status(spark, Settings.load(None, source=SOURCE, lake=lake))
    # A table's steps decide whether it may be held, so faults are judged per table.
    problems = [problem for problem in status.problems if not _HOLDS.search(problem)]
    # These tests change the source only through its log, so any reported drift is a false alarm.
    problems += [
        f"{table.schema}.{table.table}: {table.drift} drifted"
        for table in status.tables
        if table.drift
    ]
    state = GoldState.of(Ledger(spark, Lake(lake), SOURCE))
    if not state.tables:
        raise UnequalError("gold has no tables")
    if state.cut_held:
        raise UnequalError(f"every table is held: {state.cut_held}")
    versions = _published(spark, lake)
    equal = 0
    for schema, steps in histories.items():
        for name in _names(server, schema, state):
            table = next((t for t in state.tables.values() if (t.schema, t.table) == name), None)
            problem = _problem(server, state, table, name, steps)
            if problem is None and table is not None and not table.dropped:
                problem = _difference(spark, server, lake, name, versions)
                equal += problem is None
            if problem and not problem.startswith(_ALLOWED):
                problems.append(f"{'.'.join(name)}: {problem}")
    if problems:
        raise UnequalError("\n".join(problems))
    return equal


_ALLOWED = "allowed: "
_HOLDS = re.compile("|".join(HELD.values()))


def _problem(
    server: Server,
    state: GoldState,
    table: TableState | None,
    name: tuple[str, str],
    steps: Sequence[Step],
) -> str | None:
    """Return why a table cannot be compared, or None."""
    exists = name[1] in _source_tables(server, name[0])
    if table is None:
        return "it is not replicated"
    if reason := state.holds(table) or _incomplete(table):
        return _judged(reason, name[1], steps)
    if table.dropped and exists:
        return "gold considers it dropped"
    if not table.dropped and not exists:
        return "the source has dropped it"
    return None


def _incomplete(table: TableState) -> str | None:
    if table.complete or table.dropped:
        return None
    return table.reason or "not complete"


def _judged(reason: str, table: str, steps: Sequence[Step]) -> str:
    """Return the reason, marked by whether the table's last step allows it.

    A step has all features of its tables until then, since a table that is created again has none.
    """
    last = next((step for step in reversed(steps) if table in step.tables), None)
    features = last.features if last else frozenset()
    allowed = any(re.search(HELD[feature], reason) for feature in features)
    return f"{_ALLOWED if allowed else ''}held or incomplete: {reason}"


def _difference(
    spark: SparkSession,
    server: Server,
    lake: str,
    name: tuple[str, str],
    versions: Mapping[tuple[str, str], int | None],
) -> str | None:
    try:
        assert_gold_equals_source(spark, server, lake, *name, version=versions[name])
    except AssertionError as error:
        return str(error)
    return None


def _published(spark: SparkSession, lake: str) -> dict[tuple[str, str], int | None]:
    """Return each table's Delta version in the last published snapshot."""
    cuts = delta.read(spark, Lake(lake).cuts).where(sf.col("source") == SOURCE)
    last = cuts.orderBy(sf.desc("batch")).first()
    entries: list[Any] = list(last["tables"]) if last is not None else []
    return {(entry["schema"], entry["table"]): entry["delta_version"] for entry in entries}


def _names(server: Server, schema: str, state: GoldState) -> Iterator[tuple[str, str]]:
    """Return every table of a schema that exists on the server or in gold."""
    ours = [table.table for table in state.tables.values() if table.schema == schema]
    for table in dict.fromkeys([*_source_tables(server, schema), *ours]):
        yield schema, table


def _source_tables(server: Server, schema: str) -> list[str]:
    rows = server.execute(
        "SELECT TABLE_NAME FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME",
        (schema,),
    )
    return [name for (name,) in rows]
