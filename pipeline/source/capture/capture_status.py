"""The status of the capture that settings name, read from its state file by another process.

A problem with that file is part of the status, never raised, so that `binlake status` can report
the rest. With a spool the state is read from there if it is on this machine; otherwise from the
store, whose state is as old as the last object written.
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
class CaptureStatus:
    """Status of a capture: what is landed in `to` is durable up to `file` and `position`.

    `lag` is relative to the server's end (None: unknown). `updated` (ISO 8601, UTC) is the time of
    the state and `age_seconds` its age: an old state means that no capture is running. `folder`:
    subfolder of `to` with this server's files; empty for `to` itself. `gaps` are permanent.

    `problem`: why nothing else is known.
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
        """Yield the status as text: the position, then the gaps."""
        name = f"Capture of {self.source} into {self.to}"
        if self.problem is not None:
            yield f"{name}: {self.problem}"
            return
        place = f"{self.file}:{self.position}" if self.file else "nothing yet"
        inside = f" in {self.folder}" if self.folder else ""
        age = "" if self.age_seconds is None else f", {self.age_seconds:,.0f} s ago"
        status = f"durable up to {place}{inside}, {lag_text(self.lag)}"
        yield f"{name}: {status} (updated {self.updated}{age})."
        for gap in self.gaps:
            yield f"{name} has a gap: {gap.text}."


def read_capture_status(settings: Settings, now: datetime) -> CaptureStatus | None:
    """Return the status of the capture in settings; None if they name none."""
    capture = settings.capture
    if not capture.to:
        return None
    try:
        state = _state(capture)
        if state is None:
            return CaptureStatus(settings.source, capture.to, problem="nothing captured yet.")
        return CaptureStatus(
            source=settings.source,
            to=capture.to,
            folder=state.folder,
            file=state.file,
            position=state.position,
            lag=state.lag,
            updated=state.updated,
            age_seconds=(now - datetime.fromisoformat(state.updated)).total_seconds(),
            gaps=state.gaps,
        )
    except (CaptureError, SettingsError, UnreachableError) as error:
        problem = str(error)
    except OSError as error:
        problem = f"its state cannot be read: {stores.error_text(error)}."
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{STATE} is not a capture's state: {error}."
    return CaptureStatus(settings.source, capture.to, problem=redact(problem))


def _state(capture: CaptureSettings) -> CaptureState | None:
    """Return the state. Raises UnreachableError if it is in a store that cannot be read."""
    folder = local_path(capture.to)
    if folder is not None:
        return read_state(Path(folder))
    if capture.spool is not None and (state := read_state(Path(capture.spool))) is not None:
        return state
    with stores.sentences(capture.to, key="capture.to"):
        stored = stores.content(f"{capture.to.rstrip('/')}/{STATE}")
    return None if stored is None else CaptureState.from_json(stored.decode())
