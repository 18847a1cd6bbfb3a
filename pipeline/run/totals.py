"""Totals over the batches that a run finished, and the snapshot in a record of gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from pipeline.lake.ledger.run_record import RecordedBatch
from pipeline.observe.current_run import FinishedBatch


def work(finished: Iterable[FinishedBatch], run_id: str, began: datetime) -> dict[str, Any]:
    """Return the fields of a `RunRecord` that are totals over batches."""
    batches = list(finished)
    done: dict[str, Any] = {
        "batches": tuple(
            RecordedBatch(
                one.layer, one.batch, None if one.planned_by == run_id else one.planned_by
            )
            for one in batches
        )
    }
    bronze, silver, gold = (_records(batches, name) for name in ("bronze", "silver", "gold"))
    done |= {name: _sum(bronze, name) for name in ("files", "bytes", "segments")}
    done["transactions"] = _sum((record.get("counts", {}) for record in silver), "transactions")
    done["seen_before"] = _sum(silver, "seen_before")
    done["events_by_type"] = _by_name(bronze, "events")
    done["rows_decoded_by_table"] = _by_name(silver, "rows")
    done["rows_applied_by_table"] = _by_name(gold, "changes")
    return done | (cut_of(gold[-1], began) if gold else {})


def cut_of(record: Mapping[str, Any], since: datetime | None = None) -> dict[str, Any]:
    """Return the snapshot in a record of gold; nothing if it was published before `since`.

    While a full refresh is under way, it is the previous snapshot.
    """
    record = record.get("published") or record
    at = record.get("published_at")
    published_at = datetime.fromisoformat(at) if at else None
    if since is not None and (published_at is None or published_at < since):
        return {}
    micros = (record.get("cut") or {}).get("committed_at")
    committed_at = (
        None if micros is None else datetime.fromtimestamp(micros / 1_000_000, timezone.utc)
    )
    return {
        "cut_lsn": record.get("cut_lsn"),
        "cut_committed_at": committed_at,
        "published_at": published_at,
    }


def _records(batches: Iterable[FinishedBatch], layer: str) -> list[Mapping[str, Any]]:
    return [batch.record for batch in batches if batch.layer == layer]


def _sum(records: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(record.get(name) or 0 for record in records)


def _by_name(records: Iterable[Mapping[str, Any]], name: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for record in records:
        total.update(record.get(name) or {})
    return {key: count for key, count in sorted(total.items()) if count}
