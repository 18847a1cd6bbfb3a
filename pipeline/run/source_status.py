"""Freshness and lag of a source's gold tables, and the outcome of its last run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.lake.ledger.run_record import Outcome, RunRecord
from pipeline.observe import redact
from pipeline.run.work import cut_of


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run that has ended; `binlake runs` shows all of its record."""

    run_id: str
    command: str
    started_at: datetime
    finished_at: datetime
    outcome: Outcome
    exit_code: int
    error: str | None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Gold holds what the source committed up to `committed_at`, published at `published_at`.

    `lag_seconds`: from `committed_at` to `published_at`. `age_seconds`: from `committed_at` to now,
    which also grows while nothing is committed on the source. All are None until something is
    published. `refresh`: progress of a full refresh that is under way. `gtid_set`: transactions in
    gold, as the server writes them; None without GTIDs and during a full refresh.
    """

    source: str
    cut_lsn: int | None
    committed_at: datetime | None
    published_at: datetime | None
    lag_seconds: float | None
    age_seconds: float | None
    last_run: LastRun | None
    refresh: str | None = None
    gtid_set: str | None = None


def source_status(
    source: str,
    record: Mapping[str, Any] | None,
    run: RunRecord | None,
    now: datetime,
    refresh: str | None = None,
) -> SourceStatus:
    """Return the status from gold's last record in the ledger and the last run's record."""
    cut = cut_of(record or {})
    committed_at, published_at = cut["cut_committed_at"], cut["published_at"]
    return SourceStatus(
        source=source,
        cut_lsn=cut["cut_lsn"],
        committed_at=committed_at,
        published_at=published_at,
        lag_seconds=_seconds(committed_at, published_at),
        age_seconds=_seconds(committed_at, now),
        last_run=_last(run) if run else None,
        refresh=refresh,
        gtid_set=_gtid_set(record or {}),
    )


def _gtid_set(record: Mapping[str, Any]) -> str | None:
    published = record.get("published") or record
    gtid_set: str | None = (published.get("cut") or {}).get("gtid_set")
    return gtid_set


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()


def _last(run: RunRecord) -> LastRun:
    known = {name: getattr(run, name) for name in LastRun.__dataclass_fields__}
    return LastRun(**{**known, "error": redact.value(run.error)})
