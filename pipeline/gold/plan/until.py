"""The last transaction of a run that stops at a given position (`pipeline.settings.until`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.bronze import read_files
from pipeline.bronze.executed_gtids import first_after_reset
from pipeline.bronze.tables import FileRow
from pipeline.errors import SettingsError
from pipeline.gold.changes.log_facts import NUMBERED
from pipeline.gold.changes.transactions import NEW, slices
from pipeline.lake.delta_log.conditions import Condition, missing
from pipeline.layer import LayerRun
from pipeline.settings import Settings
from pipeline.settings.until import Until
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.source import GtidSet

KEY = "until"
_OF_DOMAIN = r"^(?P<series>\d+)-\d+-(?P<number>\d+)$"
"""A MariaDB GTID."""

IsLater: TypeAlias = Callable[[pa.Table], pa.ChunkedArray]
"""Returns which of the transactions come after the last wanted one."""


def last_wanted(run: LayerRun, until: str | None, low: int, high: int) -> int:
    """Return the LSN of the last transaction to apply, at least `low`, gold's current one.

    `high` is silver's last one. The log's order counts: nothing after the first transaction that is
    too late is applied. Raise SettingsError for a GTID or a file that the lake does not have.
    """
    if until is None:
        return high
    wanted = Until.read(until)
    if wanted.lsn is not None:
        return max(min(wanted.lsn, high), low)
    if wanted.gtid is not None:
        return max(_of_gtid(run, wanted.gtid, high), low)
    if wanted.place is not None:
        is_later = _ends_after(run, *wanted.place)
        return _before(run, is_later, low, high, ["__lsn", "end_pos"], where=None)
    latest = pa.scalar(wanted.time, pa.timestamp("us", "UTC"))
    return _before(
        run,
        lambda found: pc.greater(found.column("committed_at"), latest),
        low,
        high,
        ["__lsn", "committed_at"],
    )


def last_of(run: LayerRun, gtids: GtidSet, low: int, high: int) -> int:
    """Return the LSN of the last transaction before the first one outside the GTID set.

    `low` and `high` as in `last_wanted`. If the log was restarted (RESET), only the transactions
    after that count, since GTIDs are then used again.
    """
    restart = first_after_reset(read_files(run.spark, run.lake, run.source), high >> OFFSET_BITS)
    begin = max(low, restart.ordinal << OFFSET_BITS if restart else low)
    found = _before(
        run,
        lambda part: pc.invert(_among(part.column("gtid"), gtids)),
        begin,
        high,
        ["__lsn", "gtid"],
        where=NEW & ~missing("gtid"),
    )
    return low if found == begin else found


def _among(written: pa.ChunkedArray, gtids: GtidSet) -> pa.ChunkedArray:
    """Return which GTIDs are in the set; MariaDB's by the last number of their domain."""
    runs = [
        (source, first, end) for source, found in gtids.intervals.items() for first, end in found
    ]
    ends = [(str(place[0]), 0, end) for place, end in gtids.last.items()]
    numbered = _are_of(pc.utf8_lower(written), NUMBERED, runs)
    return pc.or_(numbered, _are_of(written, _OF_DOMAIN, ends))


def _are_of(
    written: pa.ChunkedArray, pattern: str, runs: Iterable[tuple[str, int, int]]
) -> pa.ChunkedArray:
    """Return which GTIDs have a number within a run (series, first, last) of their series."""
    parts = pc.extract_regex(written, pattern)
    series, number = pc.struct_field(parts, "series"), pc.struct_field(parts, "number")
    number = number.cast(pa.uint64())
    found = pc.is_null(written)
    for name, first, last in runs:
        least, most = pa.scalar(first, pa.uint64()), pa.scalar(last, pa.uint64())
        within = pc.and_(pc.greater_equal(number, least), pc.less_equal(number, most))
        found = pc.or_(found, pc.fill_null(pc.and_(pc.equal(series, name), within), False))
    return found


def require_in_log(files: Sequence[FileRow], settings: Settings) -> None:
    """Raise SettingsError for a GTID or file that bronze does not have, as far as it records that.

    Used before a full refresh of silver, when silver's content does not count. `files` are the
    source's.
    """
    if settings.until is None:
        return
    until = Until.read(settings.until)
    if until.place is not None and until.place[0] not in {row.file for row in files}:
        raise _no_file(settings.source, until.place[0])
    # Bronze records no GTIDs of a relay log's files.
    recorded = all(row.gtids is not None for row in files)
    gtid = until.gtid
    if gtid is not None and recorded and not any(gtid in GtidSet.of(row.gtids) for row in files):
        raise _no_gtid(gtid, "bronze")


def _no_gtid(gtid: str, layer: str) -> SettingsError:
    return SettingsError(
        f"{gtid} is not in {layer}.",
        key=KEY,
        remedy="Ingest and decode the log that has it, or name another transaction. If maintenance"
        " has removed it, gold is already past it.",
    )


def _no_file(source: str, file: str) -> SettingsError:
    return SettingsError(
        f"Source {source} has no file {file} in this lake.",
        key=KEY,
        remedy="binlake status lists the files of each source.",
    )


def _of_gtid(run: LayerRun, gtid: str, high: int) -> int:
    """Return the LSN of the transaction; of the last one if its GTID was reused (after RESET)."""
    lsn = None
    for rows in slices(run.spark, run.lake, run.source, 0, high, ["__lsn", "gtid"]):
        same = pc.equal(pc.utf8_lower(rows.column("gtid")), gtid)
        lsn = pc.max(rows.filter(same).column("__lsn")).as_py() or lsn
    if lsn is None:
        raise _no_gtid(gtid, "silver")
    return int(lsn)


def _ends_after(run: LayerRun, file: str, position: int) -> IsLater:
    """Return a test for transactions that end after a position in a log file."""
    files = read_files(run.spark, run.lake, run.source)
    ordinals = [row.ordinal for row in files if row.file == file]
    if not ordinals:
        raise _no_file(run.source, file)
    begin = ordinals[-1] << OFFSET_BITS

    def is_later(rows: pa.Table) -> pa.ChunkedArray:
        offset = pc.subtract(rows.column("__lsn"), begin)
        # An unknown end is at least one byte after the beginning.
        ends = pc.coalesce(rows.column("end_pos"), pc.add(offset, 1))
        within = pc.and_(pc.greater_equal(offset, 0), pc.greater(ends, position))
        return pc.or_(within, pc.greater_equal(offset, 1 << OFFSET_BITS))

    return is_later


def _before(
    run: LayerRun,
    is_later: IsLater,
    low: int,
    high: int,
    columns: Sequence[str],
    where: Condition | None = NEW,
) -> int:
    """Return the last transaction before the first one, after `low`, that is too late."""
    last = low
    for rows in slices(run.spark, run.lake, run.source, low, high, columns, where):
        lsn = rows.column("__lsn")
        first = pc.min(rows.filter(is_later(rows)).column("__lsn")).as_py()
        if first is not None:
            found = pc.max(rows.filter(pc.less(lsn, first)).column("__lsn")).as_py()
            return int(last if found is None else found)
        last = pc.max(lsn).as_py()
    return high
