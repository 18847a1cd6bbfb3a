"""The command `binlake capture`, without its options: run a capture, or show its state."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from signal import Signals
from types import FrameType

from rich.console import Console
from rich.table import Table

from pipeline.errors import Interrupted, SettingsError
from pipeline.observe import Progress, say
from pipeline.observe.interruption import SIGNALS
from pipeline.settings import Settings
from pipeline.source.capture.object_store import place_of
from pipeline.source.capture.run import Capture
from pipeline.source.capture.state import CaptureState, lag_text, read_state
from pipeline.source.server.log_position import LogPosition
from pipeline.source.server.login import login


def capture_logs(settings: Settings, progress: Progress) -> CaptureState:
    """Capture as the settings say; SIGTERM and SIGINT end it at a durable position.

    Raises BinlakeError, and Interrupted if a signal ends a capture that is not to run forever.
    """
    capturing = Capture(settings.capture, login(settings), progress, wanted=settings.wanted)
    with _ended_by_signals(capturing) as signals:
        state = capturing.run()
    if signals and not settings.capture.forever:
        raise Interrupted(signals[0])
    say(
        "capture_finished",
        f"Captured up to {LogPosition(state.file, state.position)}, {lag_text(state.lag)}.",
        file=state.file,
        position=state.position,
    )
    return state


def state_of(settings: Settings) -> CaptureState:
    """Return the last state of the capture into this folder. Raises SettingsError if none."""
    folder, _ = place_of(settings.capture)
    state = read_state(folder)
    if state is None:
        raise SettingsError(
            f"nothing was captured into {folder}.",
            key="capture.to",
            remedy="Give the folder that was given to binlake capture.",
        )
    return state


def show_state(state: CaptureState, console: Console) -> None:
    """Print the state, a row per value."""
    table = Table(show_header=False, box=None)
    for name, value in _rows(state):
        table.add_row(name, value)
    console.print(table)


def _rows(state: CaptureState) -> Iterator[tuple[str, str]]:
    yield "server", f"{state.server_version}, {state.server_uuid or f'id {state.server_id}'}"
    for turn in state.before:
        name = turn.server_uuid or f"id {turn.server_id}"
        end = LogPosition(turn.file, turn.position)
        yield "previous server", f"{name}, up to {end} ({turn.ended})"
    if state.folder:
        yield "folder", state.folder
    if state.lacking:
        yield "missing on server", f"{state.lacking}, which is landed"
    yield "durable up to", str(LogPosition(state.file, state.position))
    yield "server's log end", f"{LogPosition(state.server_file, state.server_position)}"
    yield "lag", lag_text(state.lag)
    yield (
        "captured",
        (f"{state.bytes:,} bytes, {state.events:,} events, {state.transactions:,} transactions"),
    )
    yield "updated", state.updated
    if state.reconnects:
        yield "reconnects", f"{state.reconnects}, the last: {state.last_error}"
    for gap in state.gaps:
        yield "gap", gap.text


@contextmanager
def _ended_by_signals(capturing: Capture) -> Iterator[list[Signals]]:
    """Stop the capture at SIGTERM and SIGINT. Yields the list of received signals."""
    received: list[Signals] = []

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(Signals(number))
        capturing.stop()

    previous = [signal.signal(number, end) for number in SIGNALS]
    try:
        yield received
    finally:
        for number, handler in zip(SIGNALS, previous, strict=True):
            signal.signal(number, handler)
