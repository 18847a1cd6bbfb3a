"""A lake's tables by delta-rs: reads and commits without Spark.

Invariant: a step is looked up and committed with one `DeltaTable`, so that the commit conflicts
with any commit after the lookup. delta-rs itself would commit a step twice, or let an app's version
decrease. Rows are changed by rewriting files: one commit removes the old file and adds the new one.
Written for deltalake 1.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import create_table_with_add_actions

from pipeline.errors import ConcurrentRunError
from pipeline.lake.delta_log import delta_rs
from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.delta_rs import schema_to_commit
from pipeline.lake.delta_log.model import Commit, DataFile, DeltaState, LakeTable
from pipeline.lake.delta_log.table_log import commits_of, old_files, state_of, vacuumed
from pipeline.lake.delta_step import (
    ATTEMPTS,
    CONFLICT_REMEDY,
    Step,
    conflict_error,
    wait_after,
)
from pipeline.lake.files.compaction import compact_files
from pipeline.lake.files.data_files import write_rows
from pipeline.lake.files.rewriting import Rewritten, changed, count, without
from pipeline.lake.files.table_scan import TableScan, scan
from pipeline.lake.layout import Lake
from pipeline.lake.locks.lease import require_held
from pipeline.lake.locks.lock import exclusive, local_path
from pipeline.lake.stores import is_known, options_for
from pipeline.lake.tables.actions import Actions, add_action, commit_metadata, remove_action
from pipeline.lake.tables.last_rows import last_rows
from pipeline.lake.tables.tables import FILE, NewValue


@dataclass(frozen=True, slots=True)
class NativeTables:
    """The tables of a lake whose folder this process can access; `options`: delta-rs's storage
    options. See `pipeline.lake.tables.tables`."""

    lake: Lake
    options: Mapping[str, str] = field(default_factory=dict)

    def exists(self, table: LakeTable) -> bool:
        """Return True if the table has a commit."""
        return self._opened(table) is not None

    def read(
        self,
        table: LakeTable,
        where: Condition | None = None,
        columns: Sequence[str] | None = None,
        *,
        with_file: bool = False,
    ) -> pa.Table:
        """Return the table's current rows, in no particular order, with all or some of the schema's
        columns, and `FILE` if `with_file`; no rows if the table does not exist. Files are skipped
        by their statistics."""
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

    def read_few(
        self, table: LakeTable, where: Condition, *, rows: int, size: int
    ) -> pa.Table | None:
        """Return the rows as `read` does; None if there are more than `rows`, or they take more
        than `size` bytes in memory. Reads no further than that."""
        opened = self._opened(table)
        if opened is None:
            return table.schema.empty_table()
        with delta_rs.errors_of(table.reference):
            return scan(table, opened, self.options, where).few(where, rows=rows, size=size)

    def last(
        self, table: LakeTable, by: str, each: Sequence[str], count: int, where: Condition
    ) -> pa.Table:
        """Return the rows with the `count` greatest values of `by` in each group; whole rows, in no
        particular order. Groups are the rows matching `where` with the same values of `each`.

        All these columns, and those of `where`, must be in `table.statistics` or
        `table.partition_by`; rows with null in `by` or one of `each` are ignored. Of single-row
        files, only the rows returned are read.
        """
        opened = self._opened(table)
        if opened is None:
            return table.schema.empty_table()
        with delta_rs.errors_of(table.reference):
            return last_rows(table, opened, self.options, by, each, count, where)

    def count(self, table: LakeTable, where: Condition) -> int:
        """Return the number of rows matching a condition; 0 if the table does not exist."""
        opened = self._opened(table)
        if opened is None:
            return 0
        with delta_rs.errors_of(table.reference):
            files = self._scan(table, opened, where)
            return sum(count(each, files.table.schema, where) for _, each in files.files(where))

    def folder(self, table: LakeTable) -> str:
        """Return the folder in which tasks write files for `append`: the table's own, or a new one
        in the lake's scratch space, which `append` removes."""
        return table.reference

    def append(
        self,
        table: LakeTable,
        rows: pa.Table | None,
        step: Step | None,
        files: Sequence[DataFile] = (),
    ) -> bool:
        """Append rows as a step, or unconditionally without one; creates the table if necessary.

        `files`: what tasks have written, to be appended too; `rows` are then those that were too
        few for files. If the step was already committed, the files do not become part of the table.

        Without either it only creates the table: such a step is not recorded. An empty table gets
        the columns of `table.schema` that it lacks.

        Returns True if this call committed the rows, False if the step was already committed.
        """
        written = _written_once(table, rows)

        def actions(opened: DeltaTable | None) -> Actions:
            added = [*files, *written()]
            schema = schema_to_commit(table, opened) if opened is not None and added else None
            return Actions(added, schema=schema)

        return self._commit(table, step, actions, creates=True)

    def create(self, table: LakeTable, files: Sequence[DataFile], note: str) -> bool:
        """Create a table with these files in one commit, whose note is `note`; return False, and
        commit nothing, if there is a table already."""

        def actions(opened: DeltaTable | None) -> Actions:
            return Actions(files if opened is None else ())

        return self._commit(table, None, actions, creates=True, note=note)

    def replace(self, table: LakeTable, where: Condition, rows: pa.Table, step: Step) -> bool:
        """Replace the rows matching `where` by `rows`, which must match it too, in one commit;
        creates the table if necessary. Partitions that match as a whole are not read."""
        written = _written_once(table, rows)

        def actions(opened: DeltaTable | None) -> Actions:
            kept = self._without(table, opened, where)
            return Actions([*kept.added, *written()], kept.removed)

        return self._commit(table, step, actions, creates=True)

    def delete(self, table: LakeTable, where: Condition, step: Step) -> bool:
        """Delete rows, in bounded memory; rows for which nulls make the condition unknown stay."""

        def actions(opened: DeltaTable | None) -> Actions:
            kept = self._without(table, opened, where)
            metrics = {"numDeletedRows": kept.rows}
            return Actions(kept.added, kept.removed, operation="DELETE", metrics=metrics)

        return self._commit(table, step, actions, creates=False)

    def update(
        self, table: LakeTable, where: Condition, changes: Sequence[NewValue], step: Step
    ) -> bool:
        """Update rows, in bounded memory; each change sees the rows before all changes."""

        def change(rows: pa.Table) -> pa.Table:
            values = {each.column: each.values(rows) for each in changes}
            columns = {name: values.get(name, rows.column(name)) for name in rows.column_names}
            return pa.table(columns).cast(rows.schema)

        def actions(opened: DeltaTable | None) -> Actions:
            if opened is None:
                return Actions()
            done = changed(self._scan(table, opened, where), where, change)
            return Actions(done.added, done.removed)

        return self._commit(table, step, actions, creates=False)

    def clear(self, table: LakeTable, step: Step) -> bool:
        """Remove all rows and set the schema to `table.schema`, which may differ from before."""
        return self._commit(table, step, lambda _: Actions(schema=table.schema), creates=True)

    def claim(self, table: LakeTable, step: Step) -> bool:
        """Commit a step without rows, so that it counts as done for a run that is late; creates the
        table if necessary."""
        return self._commit(table, step, lambda _: Actions(claims=True), creates=True)

    def state(self, table: LakeTable) -> DeltaState | None:
        """Return the table's state by its log; None if it does not exist. This, `history` and
        `old_files` also work for gold's tables."""
        with delta_rs.errors_of(table.reference):
            opened = delta_rs.opened_unchecked(table.reference, self.options)
            return None if opened is None else state_of(opened)

    def history(self, table: LakeTable, limit: int | None) -> Sequence[Commit]:
        """Return the last commits, or all in the log, latest first."""
        with delta_rs.errors_of(table.reference):
            opened = delta_rs.opened_unchecked(table.reference, self.options)
            return [] if opened is None else commits_of(opened, limit)

    def old_files(self, table: LakeTable) -> int:
        """Return the number of files that `vacuum` would remove. Deletion vectors, which gold's
        tables have, are not counted: delta-rs does not know which are in use."""
        with delta_rs.errors_of(table.reference):
            opened = delta_rs.opened_unchecked(table.reference, self.options)
            return 0 if opened is None else len(old_files(opened))

    def compact(self, table: LakeTable, note: str) -> bool:
        """Compact small files, in bounded memory; the rows stay the same. `note`: see `Step`."""

        def actions(opened: DeltaTable | None) -> Actions:
            if opened is None:
                return Actions()
            done = compact_files(self._scan(table, opened))
            metrics = {
                "numRemovedFiles": len(done.removed),
                "numRemovedBytes": sum(int(entry["size_bytes"]) for entry in done.removed),
                "numAddedFiles": len(done.added),
                "numAddedBytes": sum(file.size for file in done.added),
            }
            return Actions(
                done.added, done.removed, operation="OPTIMIZE", metrics=metrics, data_change=False
            )

        return self._commit(table, None, actions, creates=False, note=note)

    def vacuum(self, table: LakeTable, note: str) -> bool:
        """Remove files that no version within the table's retention refers to, whether they were
        removed by a commit or never committed. Newer files stay."""
        with exclusive(table.reference), delta_rs.errors_of(table.reference):
            opened = self._opened(table)
            if opened is None or not old_files(opened):
                return False
            delta_rs.require_read_retention(table.reference, opened)
            require_held(table.reference)
            try:
                vacuumed(opened, note)
            except CommitFailedError as error:
                raise ConcurrentRunError(
                    f"The vacuum of {table.reference} conflicted with another writer.",
                    remedy=CONFLICT_REMEDY,
                ) from error
            delta_rs.drop_stale_checksum(table.reference)
            return True

    def _without(self, table: LakeTable, opened: DeltaTable | None, where: Condition) -> Rewritten:
        if opened is None:
            return Rewritten()
        return without(self._scan(table, opened, where), where)

    def _scan(
        self, table: LakeTable, opened: DeltaTable, where: Condition | None = None
    ) -> TableScan:
        """Scan files to rewrite, with all columns that the table has."""
        stored = delta_rs.plain(opened.schema())
        added = [field for field in table.schema if field.name not in stored.names]
        whole = replace(table, schema=pa.schema([*stored, *added]))
        return scan(whole, opened, self.options, where)

    def _opened(self, table: LakeTable) -> DeltaTable | None:
        return delta_rs.opened(table.reference, self.options)

    def _commit(
        self,
        table: LakeTable,
        step: Step | None,
        actions: Callable[[DeltaTable | None], Actions],
        *,
        creates: bool,
        note: str | None = None,
    ) -> bool:
        """Commit a step unless it is committed already; every commit by delta-rs is made here."""
        lost: DeltaError | None = None
        unsure = False
        note = step.note if step else note
        for attempt in range(ATTEMPTS):
            with exclusive(table.reference), delta_rs.errors_of(table.reference):
                opened = self._opened(table)
                if opened is not None and step is not None and _is_done(opened, step):
                    return unsure
                chosen = actions(opened)
                if not chosen and not (creates and opened is None):
                    return False
                require_held(table.reference)
                try:
                    if self._write(table, opened, chosen, step, note):
                        return True
                except DeltaError as error:
                    if self._has_committed(table, opened, chosen, error):
                        return True
                    lost = error
                    # Without an added file, it could equally be another writer's commit.
                    unsure = not chosen.add
                else:
                    continue
            if attempt < ATTEMPTS - 1:
                wait_after(attempt)
        raise conflict_error(table.reference, step) from lost

    def _has_committed(
        self,
        table: LakeTable,
        before: DeltaTable | None,
        chosen: Actions,
        error: DeltaError,
    ) -> bool:
        """Return True if a commit succeeded despite an error: the store's reply may have been lost.

        By its errors, delta-rs does not distinguish a conflict from a failing store: raises
        UnreachableError if there is no new commit at all.
        """
        now = self._opened(table)
        if now is None or (before is not None and now.version() == before.version()):
            raise delta_rs.unreachable(table.reference, error) from error
        names = {file.name for file in chosen.add}
        return not names.isdisjoint(pa.table(now.get_add_actions()).column("path").to_pylist())

    def _write(
        self,
        table: LakeTable,
        opened: DeltaTable | None,
        chosen: Actions,
        step: Step | None,
        note: str | None,
    ) -> bool:
        """Commit; return False if the table got a new version first and must be opened again."""
        steps = [Transaction(step.app, step.version)] if step else None
        properties = CommitProperties(
            app_transactions=steps,
            max_commit_retries=0,
            custom_metadata=commit_metadata(chosen, note),
        )
        added = [add_action(file, chosen) for file in chosen.add]
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
            [*added, *(remove_action(table, file, chosen) for file in chosen.remove)],
            mode="append" if chosen.schema is None else "overwrite",
            schema=opened.schema() if chosen.schema is None else chosen.schema,
            partition_by=list(table.partition_by),
            commit_properties=properties,
        )
        delta_rs.drop_stale_checksum(table.reference)
        return True


def native_tables(lake: Lake) -> NativeTables | None:
    """Return the tables of a lake whose folder this process can access, or else None."""
    reachable = local_path(lake.root) is not None or is_known(lake.root)
    if lake.namespace is not None or not reachable:
        return None
    return NativeTables(lake, options_for(lake.root).delta)


def _written_once(table: LakeTable, rows: pa.Table | None) -> Callable[[], list[DataFile]]:
    """Return a function that writes rows to the table's folder at its first call only."""
    return cache(lambda: [] if rows is None else write_rows(table.reference, table, rows))


def _is_done(opened: DeltaTable, step: Step) -> bool:
    reached = opened.transaction_version(step.app)
    return reached is not None and reached >= step.version
