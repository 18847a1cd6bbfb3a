"""A dry run for a terminal: each layer with what it would read, decode or apply."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from pipeline.bronze.preview import BronzePreview, PendingFile
from pipeline.gold.preview import GoldPreview, PendingTable
from pipeline.observe import redact
from pipeline.run.preview import RunPreview
from pipeline.silver.preview import SilverPreview

UNKNOWN = "unknown until decoded"


def show_dry_run(found: RunPreview, out: Console) -> None:
    """Print the layers that would run, in data order, a line for each file and table."""
    for line in _lines(found):
        # Unwrapped: paths are copied.
        out.print(redact(line), markup=False, highlight=False, soft_wrap=True)


def _lines(found: RunPreview) -> Iterator[str]:
    yield f"A run of {found.source} in lake {found.lake} would (nothing was written):"
    if found.bronze is not None:
        yield from _bronze(found.bronze)
    if found.silver is not None:
        yield from _silver(found.silver)
        if found.bronze is not None and found.bronze.files:
            yield f"  and what bronze reads: {UNKNOWN}"
    if found.gold is not None:
        yield from _gold(found.gold)
        if found.undecoded:
            yield f"  and what silver decodes: {UNKNOWN}"


def _bronze(found: BronzePreview) -> Iterator[str]:
    known = sum(file.bytes or 0 for file in found.files)
    packed = [file.stored_bytes for file in found.files if file.bytes is None]
    more = f", and the logs in {_size(sum(packed))} of compressed files" if packed else ""
    yield ""
    yield f"bronze: ingest {_size(known)}{more}, from {_count(len(found.files), 'file')}"
    yield from _open_batch(found.open_batch)
    yield from (f"  {_file(file)}" for file in found.files)
    yield from (f"  fault: {line}" for line in found.faults)
    yield from (f"  note: {line}" for line in found.notes)


def _file(file: PendingFile) -> str:
    if file.bytes is None:
        return f"{file.path}: {_size(file.stored_bytes)} compressed"
    if file.known and not file.bytes:
        return f"{file.path}: nothing new, checked again"
    return f"{file.path}: {_size(file.bytes)}{' more' if file.known else ''}"


def _silver(found: SilverPreview) -> Iterator[str]:
    count = found.transactions
    transactions = "" if count is None else f", {_count(count, 'transaction')}"
    segments = _count(found.segments, "segment")
    yield ""
    yield f"silver: decode {segments} in bronze, {_size(found.bytes)}{transactions}"
    yield from _open_batch(found.open_batch)
    yield from (f"  {name}: rows {UNKNOWN}" for name in found.tables)
    if found.unnamed_segments:
        yield f"  tables of {_count(found.unnamed_segments, 'segment')}: {UNKNOWN}"
    yield from (f"  {name}: its initial snapshot, once the log reaches it" for name in found.seeds)
    yield from (f"  gap: {line}" for line in found.gaps)


def _gold(found: GoldPreview) -> Iterator[str]:
    yield ""
    if found.awaits_silver:
        yield "gold: wait for the full refresh of silver, or be rebuilt after it"
        return
    changes = sum(table.changes for table in found.tables)
    yield f"gold: apply {_count(changes, 'change')} in silver, up to LSN {found.to_lsn}"
    yield from _open_batch(found.open_batch)
    for table in found.tables:
        yield f"  {table.schema}.{table.table}: {', '.join(_described(table))}"
    if found.until_stops:
        yield "  later transactions wait (until)"


def _described(table: PendingTable) -> Iterator[str]:
    if table.changes:
        size = "" if table.bytes is None else f" in {_size(table.bytes)} of silver's files"
        yield f"{_count(table.changes, 'change')}{size}"
    if table.seeded:
        yield "its initial snapshot"
    if table.schema_changes:
        yield _count(table.schema_changes, "schema change")
    if table.new:
        yield "new in gold"
    if table.held is not None:
        yield f"held: {table.held}"


def _open_batch(batch: int | None) -> Iterator[str]:
    if batch is not None:
        yield f"  finishing batch {batch}, which an earlier run left, first"


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _size(count: int) -> str:
    return f"{count / (1 << 20):,.1f} MiB" if count >= 1 << 20 else f"{count:,} bytes"
