"""Where gold stops on its way, in a backfill by steps."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

MOST = 1000
"""Airflow refuses more mapped tasks than its max_map_length, which is 1024 by default."""


def stops(since: str | None, until: str | None, every: int | None) -> list[str]:
    """What `--until` is at each step: times that are `every` hours apart, the last at `until`.

    Empty text is where silver ends. Raises ValueError where there is no way to make steps.
    """
    if every is None:
        if since is not None:
            raise ValueError("since is where the first step begins, and there is no every.")
        return [until or ""]
    if since is None or until is None:
        raise ValueError("every needs since and until: the first step begins, and the last ends.")
    first, last = _time(since), _time(until)
    if first >= last:
        raise ValueError(f"since ({since}) is not before until ({until}).")
    step = timedelta(hours=every)
    count = -(-(last - first) // step)
    if count > MOST:
        raise ValueError(f"every {every} hours makes {count} steps; {MOST} are the most.")
    return [(first + number * step).isoformat() for number in range(1, count)] + [last.isoformat()]


def _time(text: str) -> datetime:
    """In UTC where it says no offset, as everywhere in Binlake."""
    try:
        time = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no time: steps go from a time to a time.") from error
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
