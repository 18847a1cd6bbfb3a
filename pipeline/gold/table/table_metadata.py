"""Creation of gold tables, and changes of their metadata: by a commit to the table's log where this
process can make it, and otherwise by an SQL statement.

A statement takes Spark some tenths of a second, and a session that may have to start first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import types as st

from pipeline.gold.table.commits import SIGNATURE
from pipeline.gold.table.options import VECTORS, clustering_clause
from pipeline.lake import delta
from pipeline.lake.delta_log import metadata_commit
from pipeline.lake.delta_log.column_features import DELETION_VECTORS, WALL_CLOCKS, enabling
from pipeline.lake.delta_log.delta_rs import DELETED, LOG, opened_unchecked
from pipeline.lake.delta_log.log_version import UNFINISHED, can_extend
from pipeline.lake.delta_log.spark_written import local_folder
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.sql_text import in_sql, is_name, quoted
from pipeline.observe.run_log import say

_OWN = "binlake."
"""The prefix of properties that have a meaning for Binlake only."""
_CLOCKS = next(iter(enabling([WALL_CLOCKS])))
_FEATURES = {VECTORS: DELETION_VECTORS, _CLOCKS: WALL_CLOCKS}
"""Properties of Delta that a table may be created with here, and the features that they enable."""


def create_table(
    spark: Spark,
    reference: str,
    schema: st.StructType,
    clustering: Sequence[str],
    properties: Mapping[str, str],
) -> None:
    """Create an empty table in one commit, unless it exists; the caller holds its lock."""
    if _created(spark, reference, schema, clustering, properties):
        return
    columns = [f"{quoted(f.name)} {f.dataType.simpleString()}" for f in schema.fields]
    by = f" {clustering_clause(clustering)}" if clustering else ""
    session, folder = started(spark), local_folder(spark, reference)
    if is_name(reference):
        delta.create_schema(session, reference)
    if folder is not None and _is_free(Path(folder)):
        _remove_attempt(Path(folder))
    session.sql(
        f"CREATE TABLE IF NOT EXISTS {in_sql(reference)} ({', '.join(columns)}) USING delta"
        f"{by} TBLPROPERTIES ({properties_in_sql(properties)})"
    )


def set_properties(spark: Spark, reference: str, properties: Mapping[str, str]) -> None:
    """Set properties of an existing table in one commit; the caller holds its lock."""
    if not set_without_spark(spark, reference, properties):
        _alter(spark, reference, properties_clause(properties))


def set_without_spark(
    spark: Spark, reference: str, properties: Mapping[str, str], note: str = SIGNATURE
) -> bool:
    """Do the same as `set_properties`; return False, with nothing committed, if that is left to
    Spark. `note`: the commit's user metadata."""
    commit = partial(metadata_commit.set_properties, properties=properties, note=note)
    only_recorded = all(name.startswith(_OWN) or name in (DELETED, LOG) for name in properties)
    return only_recorded and _committed(spark, reference, commit)


def set_clustering(spark: Spark, reference: str, columns: Sequence[str]) -> None:
    """Cluster an existing table by these columns in one commit; the caller holds its lock."""
    commit = partial(metadata_commit.set_clustering, columns=columns, note=SIGNATURE)
    if not _committed(spark, reference, commit):
        _alter(spark, reference, clustering_clause(columns))


def set_columns(spark: Spark, reference: str, schema: st.StructType) -> bool:
    """Add and move columns of an existing table, whose lock the caller holds, in one commit; return
    False, with nothing committed, if that is left to Spark."""
    commit = partial(metadata_commit.set_columns, schema=schema.json(), note=SIGNATURE)
    return _committed(spark, reference, commit)


def properties_clause(properties: Mapping[str, str]) -> str:
    """Return the clause of ALTER TABLE that sets properties."""
    return f"SET TBLPROPERTIES ({properties_in_sql(properties)})"


def properties_in_sql(properties: Mapping[str, str]) -> str:
    """Return properties as SQL text."""
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())


def _created(
    spark: Spark,
    reference: str,
    schema: st.StructType,
    clustering: Sequence[str],
    properties: Mapping[str, str],
) -> bool:
    """Create a table without Spark; return False if it is not in reach, or has unusual options."""
    folder = local_folder(spark, reference)
    given = {name for name in properties if not name.startswith(_OWN)}
    if folder is None or not given <= _FEATURES.keys():
        return False
    features = [_FEATURES[name] for name in given if properties[name] != "false"]
    # This one only adds the feature to the protocol.
    kept = {name: text for name, text in properties.items() if name != _CLOCKS}
    try:
        if opened_unchecked(reference, {}) is not None:
            return True
        if not _is_free(Path(folder)):
            return False
        metadata_commit.create_table(folder, schema.json(), clustering, features, kept, SIGNATURE)
    except (DeltaError, OSError) as error:
        return _leave(reference, error)
    return True


def _committed(spark: Spark, reference: str, commit: Callable[[DeltaTable, str], bool]) -> bool:
    """Return False if the table is not in reach, or `commit` does nothing to it as it is now."""
    folder = local_folder(spark, reference)
    if folder is None:
        return False
    try:
        opened = opened_unchecked(reference, {})
        return opened is not None and can_extend(opened) and commit(opened, folder)
    except (DeltaError, OSError) as error:
        return _leave(reference, error)


def _alter(spark: Spark, reference: str, clause: str) -> None:
    started(spark).sql(f"ALTER TABLE {in_sql(reference)} {clause}")


def _is_free(folder: Path) -> bool:
    """Return True if a table may begin in a folder: at most a killed run has tried to."""
    log = folder / "_delta_log"
    others = [one for one in folder.glob("*") if one != log]
    return not others and all(one.suffix == UNFINISHED for one in log.glob("*"))


def _remove_attempt(folder: Path) -> None:
    """Remove what a failed attempt left: Spark creates tables in empty folders only."""
    log = folder / "_delta_log"
    for unfinished in log.glob("*"):
        unfinished.unlink(missing_ok=True)
    if log.exists():
        log.rmdir()


def _leave(reference: str, error: Exception) -> bool:
    """Leave a table to Spark: it may be able to change it, or says why not."""
    text = f"The metadata of {reference} are left to Spark"
    say("left_to_spark", f"{text}: {error}", level=logging.DEBUG)
    return False
