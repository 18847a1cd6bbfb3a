"""The positions at which gold stops in a stepwise backfill."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

MAX_STEPS = 1000
"""Airflow's max_map_length, the limit of mapped tasks, is 1024 by default."""


def stops(since: str | None, until: str | None, every: int | None) -> list[str]:
    """Return `--until` of each step: times that are `every` hours apart, and `until` last.

    Without `every`, it is one step; an empty string stands for the end of silver. Raises ValueError
    if the parameters do not define steps.
    """
    if every is None:
        if since is not None:
            raise ValueError("since also needs every, the length of the steps in hours.")
        return [until or ""]
    if since is None or until is None:
        raise ValueError("every also needs since and until, the times of the first and last step.")
    first, last = _time(since), _time(until)
    if first >= last:
        raise ValueError(f"since ({since}) is not before until ({until}).")
    step = timedelta(hours=every)
    count = -(-(last - first) // step)
    if count > MAX_STEPS:
        raise ValueError(
            f"every ({every} hours) results in {count} steps, more than {MAX_STEPS}: choose a"
            " larger every."
        )
    return [(first + number * step).isoformat() for number in range(1, count)] + [last.isoformat()]


def _time(text: str) -> datetime:
    """Parse a time; UTC if it has no offset, as everywhere in Binlake."""
    try:
        time = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is not a time, such as 2026-01-31T12:00:00Z: with every, since and until"
            " must be times."
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
