"""Time zones as MySQL names them: an offset such as `+05:30`, or a name of the zone database."""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"([+-])(\d{1,2}):(\d{2})$")


def zone(name: str) -> tzinfo:
    """A session's time zone: an offset or a name. Raises ValueError for one that is not known."""
    if match := _OFFSET.match(name):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"time zone {name!r} is not known here") from error
