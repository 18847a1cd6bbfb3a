"""Runs `binlake-task` on the worker itself: no connection, and Spark within the command."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from binlake_airflow.command_line import command_line
from binlake_airflow.outcome import Outcome, said
from binlake_airflow.source_server import server_environment

GRACE = 4.0
"""Seconds that a command has to end before it is killed: Airflow kills a task that is stopped, and
with it who would kill the command, after five. A run may be killed anywhere."""
_LEVELS = {"WARNING": "warning", "ERROR": "error", "CRITICAL": "error"}
_TRACE = "exc_info"
_LEFT_OUT = frozenset({"time", "level", "logger", "message", "event", _TRACE})
"""Fields with a place of their own in Airflow's log; a trace is text, which it would take for an
error to be printed, and lose."""


class BinlakeLocalOperator(BaseOperator):
    """A command of Binlake's as a process of its own, in its own process group.

    `server`: the connection to the source server, which its environment gets.
    """

    template_fields: Sequence[str] = ("options",)

    def __init__(
        self,
        *,
        program: str,
        command: tuple[str, ...],
        settings: str,
        options: Mapping[str, Any],
        server: str | None = None,
        warn: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.program = program
        self.command = command
        self.settings = settings
        self.options = options
        self.server = server
        self.warn = warn
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def execute(self, context: Context) -> dict[str, Any]:
        """Run it; returns what it said of its end, for other tasks."""
        arguments = command_line(self.command, self.settings, self.options)
        self.log.info("binlake %s", " ".join(arguments))
        outcome = Outcome()
        self._stopped = False
        try:
            exit_code = self._run([find_program(self.program), *arguments], outcome)
        except BaseException:  # a timeout is no Exception
            self.on_kill()
            raise
        outcome.settle(self.command, exit_code, warn=self.warn)
        return outcome.told(context["ti"].try_number)

    def _run(self, arguments: list[str], outcome: Outcome) -> int:
        process = self._process = subprocess.Popen(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, **server_environment(self.server)},
        )
        if self._stopped:  # while it was being started
            self.on_kill()
        output = cast("IO[str]", process.stdout)
        for line in outcome.follow(output):
            self._tell(line.rstrip())
        output.close()
        exit_code = process.wait()
        self._process = None  # its number may be another's from now on
        return exit_code

    def _tell(self, line: str) -> None:
        """Into the task's log; what Binlake says comes with its level and fields."""
        fields = said(line)
        if fields is None:
            self.log.info(line)
            return
        level = _LEVELS.get(str(fields.get("level")), "info")
        shown = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
        getattr(self.log, level)(str(fields.get("message", "")), **shown)
        for traced in str(fields.get(_TRACE) or "").splitlines():
            getattr(self.log, level)(traced)

    def on_kill(self) -> None:
        """End it with all that it started: Java may outlive it, and ends Spark's workers."""
        self._stopped = True
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):  # no one of them is there any more
            os.killpg(process.pid, signal.SIGTERM)
            until = time.monotonic() + GRACE
            while time.monotonic() < until:
                process.poll()  # a process that nobody has waited for counts as one
                os.killpg(process.pid, 0)
                time.sleep(0.1)
            os.killpg(process.pid, signal.SIGKILL)
        self._process = None  # Airflow asks again, when its number may be another's


def find_program(name: str) -> str:
    """Beside this Python first, where a virtual environment has both; then on PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if found := shutil.which(name, path=path):
        return found
    raise AirflowFailException(
        f"There is no program {name} on this worker: install Binlake there, or give its path as"
        " command in the section airflow of the source's file."
    )
