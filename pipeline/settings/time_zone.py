"""MySQL's time zones: an offset such as `+05:30`, or a name of the time zone database."""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"([+-])(\d{1,2}):(\d{2})$")


def zone(name: str) -> tzinfo:
    """Return a session's time zone, by offset or name; raise ValueError if it is unknown."""
    if match := _OFFSET.match(name):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"time zone {name!r} is unknown on this machine") from error
