"""A lake's tables by delta-rs: reading and committing without Spark.

Invariant: a step is looked up and committed by one `DeltaTable`, so that the commit conflicts with
whatever was committed since the look. delta-rs itself would let a step be done twice, and a version
go backwards. Rows change by files that are written again: the old file goes and the new one comes
in one commit. Written for deltalake 1.6.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from pipeline.errors import ConcurrentRunError
from pipeline.hold import require_held
from pipeline.lake import Lake
from pipeline.lake_tables import delta_rs
from pipeline.lake_tables.conditions import Condition
from pipeline.lake_tables.data_files import partition_values, write_rows
from pipeline.lake_tables.delta_rs import schema_to_commit
from pipeline.lake_tables.last_rows import last_rows
from pipeline.lake_tables.rewriting import Rewritten, changed, without
from pipeline.lake_tables.scanning import LogEntry, removable_path, scan
from pipeline.lake_tables.table import DataFile, LakeTable, Step
from pipeline.lake_tables.tables import FILE, Change
from pipeline.lock import exclusive, local_path

ATTEMPTS = 8
"""How often a step is tried again after losing to another commit of the same table."""
_STALE = "._last_checkpoint.crc"
"""Hadoop's checksum of a file that delta-rs has written again: Spark would wait for it to agree."""


@dataclass(frozen=True, slots=True)
class _Actions:
    """What a commit does; `schema`: the table's from then on, where it replaces everything;
    `claims`: it is done for its step alone."""

    add: Sequence[DataFile] = ()
    remove: Sequence[LogEntry] = ()
    schema: pa.Schema | None = None
    claims: bool = False

    def __bool__(self) -> bool:
        return bool(self.add or self.remove or self.schema is not None or self.claims)


@dataclass(frozen=True, slots=True)
class NativeTables:
    """The tables of a lake whose folder this process reaches. `options`: the store's, as delta-rs
    wants them. See `pipeline.lake_tables.tables.Tables`."""

    lake: Lake
    options: Mapping[str, str] = field(default_factory=dict)

    def exists(self, table: LakeTable) -> bool:
        """Whether anything was ever committed to it."""
        return self._opened(table) is not None

    def read(
        self,
        table: LakeTable,
        where: Condition | None = None,
        columns: Sequence[str] | None = None,
        *,
        with_file: bool = False,
    ) -> pa.Table:
        """Its rows now; see `Tables.read`."""
        opened = self._opened(table)
        names = [*(table.schema.names if columns is None else columns)]
        if with_file:
            names.append(FILE)
        if opened is None:
            return table.schema.append(pa.field(FILE, pa.string())).empty_table().select(names)
        with delta_rs.errors_of(table.reference):
            found: pa.Table = scan(table, opened, self.options, where).dataset.to_table(
                columns=names, filter=None if where is None else where.expression
            )
        return found

    def last(
        self, table: LakeTable, by: str, each: Sequence[str], count: int, where: Condition
    ) -> pa.Table:
        """The last rows of each group; see `Tables.last`."""
        opened = self._opened(table)
        if opened is None:
            return table.schema.empty_table()
        with delta_rs.errors_of(table.reference):
            return last_rows(table, opened, self.options, by, each, count, where)

    def folder(self, table: LakeTable) -> str:
        """The table's own folder."""
        return table.reference

    def append(self, table: LakeTable, rows: pa.Table, step: Step | None) -> bool:
        """Add rows; see `Tables.append`."""
        return self._add(table, (), rows, step)

    def add(
        self, table: LakeTable, files: Sequence[DataFile], rest: pa.Table | None, step: Step
    ) -> bool:
        """Add files, and rows; see `Tables.add`."""
        return self._add(table, files, rest, step)

    def replace(self, table: LakeTable, where: Condition, rows: pa.Table, step: Step) -> bool:
        """Put rows in the place of others; see `Tables.replace`."""
        written = _written_once(table, rows)

        def actions(opened: DeltaTable | None) -> _Actions:
            kept = self._without(table, opened, where)
            return _Actions([*kept.added, *written()], kept.removed)

        return self._commit(table, step, actions, creates=True)

    def delete(self, table: LakeTable, where: Condition, step: Step) -> bool:
        """Remove rows; see `Tables.delete`."""

        def actions(opened: DeltaTable | None) -> _Actions:
            kept = self._without(table, opened, where)
            return _Actions(kept.added, kept.removed)

        return self._commit(table, step, actions, creates=False)

    def update(
        self, table: LakeTable, where: Condition, changes: Sequence[Change], step: Step
    ) -> bool:
        """Change rows; see `Tables.update`."""

        def change(meant: pa.Table) -> pa.Table:
            values = {each.column: each.values(meant) for each in changes}
            columns = {name: values.get(name, meant.column(name)) for name in meant.column_names}
            return pa.table(columns).cast(meant.schema)

        def actions(opened: DeltaTable | None) -> _Actions:
            if opened is None:
                return _Actions()
            done = changed(scan(table, opened, self.options, where), where, change)
            return _Actions(done.added, done.removed)

        return self._commit(table, step, actions, creates=False)

    def clear(self, table: LakeTable, step: Step) -> bool:
        """Remove all rows; see `Tables.clear`."""
        return self._commit(table, step, lambda _: _Actions(schema=table.schema), creates=True)

    def claim(self, table: LakeTable, step: Step) -> bool:
        """Do a step without rows; see `Tables.claim`."""
        return self._commit(table, step, lambda _: _Actions(claims=True), creates=True)

    def history(self, table: LakeTable, limit: int) -> Sequence[Mapping[str, Any]]:
        """The last commits, the latest first."""
        opened = self._opened(table)
        return [] if opened is None else opened.history(limit)

    def _without(self, table: LakeTable, opened: DeltaTable | None, where: Condition) -> Rewritten:
        if opened is None:
            return Rewritten()
        return without(scan(table, opened, self.options, where), where)

    def _opened(self, table: LakeTable) -> DeltaTable | None:
        return delta_rs.opened(table.reference, self.options)

    def _add(
        self,
        table: LakeTable,
        files: Sequence[DataFile],
        rows: pa.Table | None,
        step: Step | None,
    ) -> bool:
        written = _written_once(table, rows)

        def actions(opened: DeltaTable | None) -> _Actions:
            added = [*files, *written()]
            schema = schema_to_commit(table, opened) if opened is not None and added else None
            return _Actions(added, schema=schema)

        return self._commit(table, step, actions, creates=True)

    def _commit(
        self,
        table: LakeTable,
        step: Step | None,
        actions: Callable[[DeltaTable | None], _Actions],
        *,
        creates: bool,
    ) -> bool:
        """Do a step unless it is done: every commit by delta-rs passes here, and nowhere else."""
        lost: DeltaError | None = None
        for attempt in range(ATTEMPTS):
            with exclusive(table.reference), delta_rs.errors_of(table.reference):
                opened = self._opened(table)
                if opened is not None and step is not None and _is_done(opened, step):
                    return False
                chosen = actions(opened)
                if not chosen and not (creates and opened is None):
                    return False
                require_held(table.reference)
                try:
                    if self._write(table, opened, chosen, step):
                        return True
                except DeltaError as error:
                    if self._has_committed(table, opened, chosen, error):
                        return True
                    lost = error
                else:
                    continue
            if attempt < ATTEMPTS - 1:
                time.sleep(0.1 * 2**attempt)
        raise _never_let(table, step) from lost

    def _has_committed(
        self,
        table: LakeTable,
        before: DeltaTable | None,
        chosen: _Actions,
        error: DeltaError,
    ) -> bool:
        """Whether a commit is there that ended in an error, as where a store's answer was lost.

        delta-rs's errors do not tell another writer's commit from a store that refused this one:
        raises UnreachableError where nobody committed.
        """
        now = self._opened(table)
        if now is None or (before is not None and now.version() == before.version()):
            raise delta_rs.unreachable(table.reference, error) from error
        names = {file.name for file in chosen.add}
        return not names.isdisjoint(pa.table(now.get_add_actions()).column("path").to_pylist())

    def _write(
        self, table: LakeTable, opened: DeltaTable | None, chosen: _Actions, step: Step | None
    ) -> bool:
        """Commit; False where the table has another version first, and is to be looked at again."""
        steps = [Transaction(step.app, step.version)] if step else None
        properties = CommitProperties(app_transactions=steps, max_commit_retries=0)
        added = [_add_action(file) for file in chosen.add]
        if opened is None:
            create_table_with_add_actions(
                delta_rs.place(table.reference),
                Schema.from_arrow(table.schema),
                added,
                mode="error",
                partition_by=list(table.partition_by),
                configuration=dict(table.properties),
                storage_options=dict(self.options),
                commit_properties=properties,
            )
            return True
        if chosen.schema is not None and delta_rs.with_features(opened, chosen.schema):
            return False
        opened.create_write_transaction(
            [*added, *(_remove_action(table, file) for file in chosen.remove)],
            mode="append" if chosen.schema is None else "overwrite",
            schema=opened.schema() if chosen.schema is None else chosen.schema,
            partition_by=list(table.partition_by),
            commit_properties=properties,
        )
        _drop_stale_checksum(table.reference)
        return True


def _written_once(table: LakeTable, rows: pa.Table | None) -> Callable[[], list[DataFile]]:
    """Writes rows into the table's folder when they are needed first, and not at each attempt."""
    return cache(lambda: [] if rows is None else write_rows(table.reference, table, rows))


def _drop_stale_checksum(reference: str) -> None:
    if (folder := local_path(reference)) is not None:
        Path(folder, "_delta_log", _STALE).unlink(missing_ok=True)


def _is_done(opened: DeltaTable, step: Step) -> bool:
    reached = opened.transaction_version(step.app)
    return reached is not None and reached >= step.version


def _add_action(file: DataFile) -> AddAction:
    statistics = {"numRecords": file.rows, **file.statistics}
    return AddAction(
        path=file.name,
        size=file.size,
        partition_values=dict(file.partition),
        modification_time=int(time.time() * 1000),
        data_change=True,
        stats=json.dumps(statistics),
    )


def _remove_action(table: LakeTable, file: LogEntry) -> RemoveAction:
    return RemoveAction(
        path=removable_path(table, file),
        data_change=True,
        deletion_timestamp=int(time.time() * 1000),
        size=file["size_bytes"],
        partition_values=partition_values(file.get("partition") or {}),
    )


def _never_let(table: LakeTable, step: Step | None) -> ConcurrentRunError:
    what = f"Step {step.version} of {step.app}" if step else f"A row of {table.reference}"
    return ConcurrentRunError(
        f"{what} lost {ATTEMPTS} times to other writers.",
        remedy="Run it again once the other run is done.",
    )
