"""The tables of one published snapshot of gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipeline.errors import SettingsError
from pipeline.gold.plan.cuts_table import CutRow, find_cut
from pipeline.gold.snapshot.query_engines import ENGINES, QueryEngine
from pipeline.gold.snapshot.table_versions import SnapshotEntry, name_of
from pipeline.gold.table.names import gold_name
from pipeline.settings import Settings
from pipeline.settings.settings import matches
from pipeline.settings.until import Until

if TYPE_CHECKING:
    from pipeline.lake.tables.tables import Tables

Frame = TypeVar("Frame")


class Snapshot(dict[str, Frame], Generic[Frame]):
    """The tables of one published snapshot by `schema.table`: together, a state of the source.

    `lsn`, `gtid_set` (None if the log has no GTIDs) and `committed_at` are of the last
    transaction in it. `held`: held tables, which are at an earlier commit; `incomplete`:
    tables that do not claim to equal the source's, because they lack rows from before the log, or
    because the source has dropped them.
    """

    def __init__(self, cut: CutRow, frames: Mapping[str, Frame]) -> None:
        super().__init__(frames)
        self.source = cut.source
        self.lsn = cut.lsn
        self.gtid_set = cut.gtid_set
        self.committed_at = cut.committed_at
        entries = [entry for entry in cut.tables if name_of(entry) in frames]
        self.held = frozenset(name_of(entry) for entry in entries if entry["held"])
        self.incomplete = frozenset(name_of(entry) for entry in entries if not entry["complete"])


def moment(at: str | int | datetime) -> Until:
    """Parse a time, a GTID, a log position or an LSN. Raises SettingsError (of `at`)."""
    try:
        return Until.read(at.isoformat() if isinstance(at, datetime) else str(at))
    except ValueError as error:
        raise SettingsError(f"{error}.", key="at") from error


def read_snapshot(
    settings: Settings,
    at: str | int | datetime | None = None,
    *,
    engine: QueryEngine = "spark",
    patterns: Sequence[str] = (),
) -> Snapshot[Any]:
    """Return the tables that match `patterns`, in the last snapshot that has nothing later than
    `at`; arguments and errors as of `binlake.read`."""
    if engine not in ENGINES:
        *others, last = ENGINES
        remedy = f"Use {', '.join(others)} or {last}."
        raise SettingsError(f"{engine!r} is unknown.", key="engine", remedy=remedy)
    until = None if at is None else moment(at)
    tables, reader = ENGINES[engine](settings)
    cut, entries = find_tables(settings, tables, until, patterns)

    def frame_of(entry: SnapshotEntry) -> Any:
        return reader(gold_name(settings, entry["schema"], entry["table"]), entry)

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        frames = list(pool.map(frame_of, entries.values()))
    return Snapshot(cut, dict(zip(entries, frames, strict=True)))


def find_some_tables(
    settings: Settings, tables: Tables, until: Until | None, patterns: Sequence[str]
) -> tuple[CutRow, dict[str, SnapshotEntry]]:
    """Return the same as `find_tables`; raise SettingsError if no table matches `patterns`."""
    cut, entries = find_tables(settings, tables, until, patterns)
    if patterns and not entries:
        reason = f"no table of the snapshot matches {', '.join(patterns)}."
        raise SettingsError(reason, key="tables", remedy="binlake status -v lists the tables.")
    return cut, entries


def find_tables(
    settings: Settings, tables: Tables, until: Until | None, patterns: Sequence[str]
) -> tuple[CutRow, dict[str, SnapshotEntry]]:
    """Return a published snapshot, and its tables that match `patterns`, by `schema.table`.

    The lake's only source is meant unless the settings name one.
    """
    named = "source" in settings.model_fields_set
    cut = find_cut(tables, settings.source if named else None, until)
    entries = {
        name: entry
        for entry in cut.tables
        if entry["delta_version"] is not None and matches(name := name_of(entry), patterns)
    }
    return cut, entries
