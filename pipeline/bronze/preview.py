"""Preview of bronze's next run, by listing the input: only the heads of files are read."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.bronze.batch_plan import successors_of, worth_reading
from pipeline.bronze.inputs import earlier_transactions, find_input
from pipeline.bronze.order import Placed
from pipeline.layer import LayerRun


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A file that a run would read.

    `known`: bronze has its beginning. `bytes`: the number that bronze lacks; None for a compressed
    file, whose uncompressed size is unknown until it is read. `stored_bytes`: the file's size in
    the store.
    """

    file: str
    path: str
    known: bool
    bytes: int | None
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class BronzePreview:
    """The work of bronze's next run.

    `open_batch`: the batch that an earlier run left unfinished, which is finished first; its files
    count as not ingested. The bytes after a file's last whole transaction wait.
    """

    open_batch: int | None
    files: tuple[PendingFile, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...]


def preview(run: LayerRun) -> BronzePreview:
    """Return what a run would ingest; writes nothing.

    Raises SettingsError if neither the input nor bronze has a log.
    """
    found = find_input(run, earlier_transactions(run))
    placed, open_plan = found.order.placed, run.ledger.open("bronze")
    followed = successors_of(placed, found.known)
    return BronzePreview(
        open_batch=open_plan.batch if open_plan else None,
        files=tuple(
            _pending(file)
            for file in placed
            if worth_reading(file, succeeded=file.ordinal in followed)
        ),
        faults=(*found.listing.faults, *found.order.faults),
        notes=(*found.listing.notes, *found.order.notes),
    )


def _pending(file: Placed) -> PendingFile:
    stored, size = file.binlog.stored, file.binlog.size
    ingested = 0 if file.row is None else file.row.ingested_upto
    return PendingFile(
        stored.name,
        stored.path,
        known=ingested > 0,
        bytes=None if size is None else max(size - ingested, 0),
        stored_bytes=stored.size,
    )
