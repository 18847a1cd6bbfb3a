"""How far the capture is that settings name, for who does not run it: by the state that it leaves.

One small file is read, and whatever is wrong with it is told, never raised: `binlake status` has
more to say. Where logs are landed by a spool, that tells, if it is on this machine; else the store,
whose state is as old as the last object that was put.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.errors import SettingsError, UnreachableError
from pipeline.lake import stores
from pipeline.lake.locks.lock import local_path
from pipeline.observe import redact
from pipeline.settings import Settings
from pipeline.settings.capture import CaptureSettings
from pipeline.source.capture.errors import CaptureError
from pipeline.source.capture.state import STATE, CaptureState, Gap, Lag, lag_text, read_state


@dataclass(frozen=True, slots=True)
class CaptureStanding:
    """What is landed in `to` is durable up to `file` and `position`, and `lag` behind the server
    (None: the server's end is not known), as the capture said at `updated` (ISO 8601, UTC), which
    is `age_seconds` ago: an old one means that nothing captures. `folder`: where in `to` the files
    of this server are, empty for `to` itself. `gaps` are for good.

    `problem` says why nothing else is known.
    """

    source: str
    to: str
    folder: str = ""
    file: str = ""
    position: int = 0
    lag: Lag | None = None
    updated: str = ""
    age_seconds: float | None = None
    gaps: tuple[Gap, ...] = ()
    problem: str | None = None

    def lines(self) -> Iterator[str]:
        """The same for people: how far it is, then its gaps."""
        name = f"Capture of {self.source} into {self.to}"
        if self.problem is not None:
            yield f"{name}: {self.problem}"
            return
        place = f"{self.file}:{self.position}" if self.file else "nothing yet"
        inside = f" in {self.folder}" if self.folder else ""
        age = "" if self.age_seconds is None else f", {self.age_seconds:,.0f} s ago"
        told = f"durable up to {place}{inside}, {lag_text(self.lag)}"
        yield f"{name}: {told} (updated {self.updated}{age})."
        for gap in self.gaps:
            yield f"{name} has a gap: {gap.text}."


def capture_standing(settings: Settings, now: datetime) -> CaptureStanding | None:
    """None where settings name no capture."""
    capture = settings.capture
    if not capture.to:
        return None
    try:
        state = _state(capture)
        return _told(settings.source, capture.to, state, now)
    except (CaptureError, SettingsError, UnreachableError) as error:
        problem = str(error)
    except OSError as error:
        problem = f"its state cannot be read: {stores.said_by(error)}."
    except (ValueError, KeyError, TypeError) as error:
        problem = f"what is at {STATE} is no state of a capture: {error}."
    return CaptureStanding(settings.source, capture.to, problem=redact(problem))


def _told(source: str, to: str, state: CaptureState | None, now: datetime) -> CaptureStanding:
    if state is None:
        return CaptureStanding(source, to, problem="nothing was captured into it yet.")
    return CaptureStanding(
        source=source,
        to=to,
        folder=state.folder,
        file=state.file,
        position=state.position,
        lag=state.lag,
        updated=state.updated,
        age_seconds=(now - datetime.fromisoformat(state.updated)).total_seconds(),
        gaps=state.gaps,
    )


def _state(capture: CaptureSettings) -> CaptureState | None:
    folder = local_path(capture.to)
    if folder is not None:
        return read_state(Path(folder))
    if capture.spool is not None and (state := read_state(Path(capture.spool))) is not None:
        return state
    return _stored_state(capture.to)


def _stored_state(location: str) -> CaptureState | None:
    """Raises UnreachableError where the store cannot be asked."""
    with stores.sentences(location, key="capture.to"):
        stored = stores.content(f"{location.rstrip('/')}/{STATE}")
    return None if stored is None else CaptureState.from_json(stored.decode())
