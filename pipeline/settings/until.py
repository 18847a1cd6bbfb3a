"""The `until` setting, where gold stops: a time, a GTID, a position in the log, or an LSN.

The text form of a GTID is also known to `pipeline.source.gtid_set`, `pipeline.gold.plan.until` and
`pipeline.gold.changes.log_facts`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone

FORMS = (
    "a time such as 2026-11-22T10:00:00+01:00, a GTID, a place such as binlog.000042:1234, or an"
    " LSN"
)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_GTID = re.compile(r"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(:[a-z_][a-z0-9_]*)?:|\d+-\d+-)\d+")
_PLACE = re.compile(r"(?P<file>[^:/]+\.\d+):(?P<pos>\d+)")


@dataclass(frozen=True, slots=True)
class Until:
    """One of the forms; `text` is the original text.

    All of them are inclusive: the last to be applied are the transactions committed at `time`, the
    transaction `gtid`, the one that ends at the byte offset of `place`, or the one that begins at
    `lsn`.
    """

    text: str
    time: datetime | None = None
    gtid: str | None = None
    place: tuple[str, int] | None = None
    lsn: int | None = None

    @classmethod
    def read(cls, text: str) -> Until:
        """Parse a text; times without an offset are UTC. Raises ValueError for any other form."""
        written = text.strip()
        if written.isdigit():
            return cls(written, lsn=int(written))
        if _TIME.fullmatch(written):
            return cls(written, time=_time(written))
        if _GTID.fullmatch(written.lower()):
            return cls(written, gtid=written.lower())
        if place := _PLACE.fullmatch(written):
            return cls(written, place=(place["file"], int(place["pos"])))
        raise ValueError(f"{text!r} is not {FORMS}")


def _time(text: str) -> datetime:
    try:
        # Python 3.10 does not read Z.
        time = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time in ISO 8601: {error}") from error
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
