"""The files of the input, and their places among those that the source has in bronze."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.bronze.files import read_files
from pipeline.bronze.log_origin import Committed, commits
from pipeline.bronze.order import Order, place
from pipeline.bronze.tables import FileRow
from pipeline.errors import SettingsError
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import position_before_refresh, removed
from pipeline.layer import LayerRun
from pipeline.settings import Settings
from pipeline.source import find_binlogs
from pipeline.source.logs.ciphers import read_keys
from pipeline.source.logs.listing import Listing


@dataclass(frozen=True, slots=True)
class EarlierTransactions:
    """The lookup of the lake's transactions in silver.

    `removed_until`: silver has every transaction committed later (see `log_origin.origin`).
    """

    committed: Committed
    removed_until: int


@dataclass(frozen=True, slots=True)
class InputFiles:
    """The rows of the source's files in bronze, the input's files, and their ordinals."""

    known: Sequence[FileRow]
    listing: Listing
    order: Order


def earlier_transactions(run: LayerRun) -> EarlierTransactions:
    """Return the lookup; it finds nothing during a full refresh of silver."""
    if position_before_refresh(run.ledger) is not None:
        return EarlierTransactions(lambda _: None, 0)
    committed = commits(run.spark, run.lake, run.source)
    return EarlierTransactions(committed, removed(run.ledger).committed_at)


def find_input(run: LayerRun, earlier: EarlierTransactions) -> InputFiles:
    """List the input. Raises SettingsError if neither it nor bronze has a log."""
    settings = run.settings
    known = read_files(run.spark, run.lake, run.source)
    listing = find_binlogs(settings.binlogs, read_keys(settings.encryption))
    reached = _reached(run.ledger)
    order = place(listing.binlogs, known, reached, earlier.committed, earlier.removed_until)
    _require_something(settings, listing, known)
    return InputFiles(known, listing, order)


def _reached(ledger: Ledger) -> int:
    """Return the ordinal of the last file that silver has reached, or reached before a refresh."""
    plan = ledger.open("silver") or ledger.last("silver")
    before, _ = position_before_refresh(ledger) or (0, 0)
    return max(int(plan.body["end"][0]), before) if plan else 0


def _require_something(settings: Settings, listing: Listing, known: Sequence[FileRow]) -> None:
    if not (known or listing.binlogs or listing.faults or listing.begun):
        raise SettingsError(
            f"no binary log found at {settings.inputs}.",
            key="binlogs",
            remedy=" ".join(listing.notes),
        )
