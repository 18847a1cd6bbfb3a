"""The server's log end and the lag in the state."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from pipeline.settings.capture import CheckpointSettings
from pipeline.source.capture.checkpoints import Checkpoints
from pipeline.source.capture.dump_items import LogBytes
from pipeline.source.capture.errors import LostConnectionError
from pipeline.source.capture.landed_folder import LandedFolder
from pipeline.source.capture.source import LogEnd, LogFile, SourceQueries
from pipeline.source.capture.state import CaptureState, Lag, Replica
from pipeline.source.server.errors import AccessDeniedError, TlsError
from pipeline.source.server.log_position import LogPosition

NAMED = {"address": "localhost:3306", "user": "reader"}


class Asked:
    """A fake server whose log has 900 bytes, until it stops answering."""

    error: Exception | None = None

    def logs(self) -> list[LogFile]:
        self._answer()
        return [LogFile("binlog.000001", 900)]

    def end(self) -> LogEnd:
        self._answer()
        return LogEnd(LogPosition("binlog.000001", 900), "", time=1_000_000.0)

    def _answer(self) -> None:
        if self.error is not None:
            raise self.error


def test_the_lag_in_seconds_uses_the_servers_clock(tmp_path: Path) -> None:
    state = CaptureState(Replica.new(), file="binlog.000001", position=400)
    checkpoints = Checkpoints(LandedFolder(tmp_path), state, CheckpointSettings())
    source = cast(SourceQueries, Asked())
    checkpoints.make()
    checkpoints.ask(source, final=True)
    assert checkpoints.state.lag == Lag(seconds=None, bytes=500)
    checkpoints.count(LogBytes(memoryview(b"x"), 400, None, 1, 0, timestamp=999_000), 1)
    checkpoints.make()
    checkpoints.ask(source, final=True)
    assert checkpoints.state.lag is not None
    assert checkpoints.state.lag.seconds == pytest.approx(1000, abs=60)


@pytest.mark.parametrize(
    "error",
    [
        LostConnectionError("it is lost."),
        TlsError("no TLS.", **NAMED),
        AccessDeniedError("no.", **NAMED),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_lag_is_unknown_while_the_server_does_not_answer(
    error: Exception, tmp_path: Path
) -> None:
    state = CaptureState(Replica.new(), file="binlog.000001", position=400)
    checkpoints = Checkpoints(LandedFolder(tmp_path), state, CheckpointSettings())
    asked = Asked()
    checkpoints.ask(cast(SourceQueries, asked), final=True)
    assert checkpoints.state.lag is not None
    assert checkpoints.state.lag.bytes == 500
    asked.error = error
    checkpoints.ask(cast(SourceQueries, asked), final=True)
    assert checkpoints.state.lag is None
