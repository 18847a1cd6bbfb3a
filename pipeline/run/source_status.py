"""How far gold is behind its source, and how its last run went."""

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
    """The run that was started last, of those that have ended; `binlake runs` tells all of it."""

    run_id: str
    command: str
    started_at: datetime
    finished_at: datetime
    outcome: Outcome
    exit_code: int
    error: str | None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Gold has what the source committed up to `committed_at`, since `published_at`.

    `lag_seconds` lie between the two. `age_seconds`: from `committed_at` to now, which also grows
    where nothing is committed on the source. All are None as long as nothing was published.
    `refresh` tells how far a full refresh is that is under way; `gtid_set` which transactions of
    the source gold holds, as the server writes them: None without GTIDs, and during a refresh.
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
    """From gold's last record in the ledger, and the last run's."""
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
    told: str | None = (published.get("cut") or {}).get("gtid_set")
    return told


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()


def _last(run: RunRecord) -> LastRun:
    told = {name: getattr(run, name) for name in LastRun.__dataclass_fields__}
    return LastRun(**{**told, "error": redact.value(run.error)})
