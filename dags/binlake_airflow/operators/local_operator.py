"""The operator that runs `binlake-task` on the Airflow worker, with Spark inside the command."""

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

from binlake_airflow.operators.command_line import command_line
from binlake_airflow.operators.outcome import Outcome, parse_log_line
from binlake_airflow.operators.source_server import server_environment

GRACE = 4.0
"""Seconds between SIGTERM and SIGKILL. Airflow kills a stopped task after five seconds, and the
command must be gone by then. Killing a run is safe at any point."""
_LEVELS = {"WARNING": "warning", "ERROR": "error", "CRITICAL": "error"}
_TRACE = "exc_info"
_NOT_EXTRA = frozenset({"time", "level", "logger", "message", "event", _TRACE})
"""Fields that are not passed to Airflow's log as extra fields: it has its own for them. As
`exc_info`, it would expect an exception and drop the text of the traceback."""


class BinlakeLocalOperator(BaseOperator):
    """Operator that runs a Binlake command as a child process in its own process group.

    `server`: the Airflow connection to the source server, passed in the child's environment.
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
        """Run the command; return its outcome as an XCom for other tasks."""
        arguments = command_line(self.command, self.settings, self.options)
        self.log.info("binlake %s", " ".join(arguments))
        outcome = Outcome()
        self._stopped = False
        try:
            exit_code = self._run([find_program(self.program), *arguments], outcome)
        except BaseException:  # Airflow's timeout is not an Exception
            self.on_kill()
            raise
        outcome.raise_for_exit_code(self.command, exit_code, warn=self.warn)
        return outcome.as_xcom(context["ti"].try_number)

    def _run(self, arguments: list[str], outcome: Outcome) -> int:
        process = self._process = subprocess.Popen(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            # No colors in the log, even if the worker's environment forces them.
            env={**os.environ, "TERM": "dumb", **server_environment(self.server)},
        )
        if self._stopped:  # on_kill was called during Popen
            self.on_kill()
        output = cast("IO[str]", process.stdout)
        for line in outcome.follow(output):
            self._log_line(line.rstrip())
        output.close()
        exit_code = process.wait()
        self._process = None  # the process id may be reused from now on
        return exit_code

    def _log_line(self, line: str) -> None:
        """Write a line of output to the task's log; Binlake's JSON keeps its level and fields."""
        fields = parse_log_line(line)
        if fields is None:
            self.log.info(line)
            return
        level = _LEVELS.get(str(fields.get("level")), "info")
        extra = {name: value for name, value in fields.items() if name not in _NOT_EXTRA}
        getattr(self.log, level)(str(fields.get("message", "")), **extra)
        for trace_line in str(fields.get(_TRACE) or "").splitlines():
            getattr(self.log, level)(trace_line)

    def on_kill(self) -> None:
        """End the whole process group: Java may outlive the command, and ends Spark's workers."""
        self._stopped = True
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):  # the whole group has ended
            os.killpg(process.pid, signal.SIGTERM)
            until = time.monotonic() + GRACE
            while time.monotonic() < until:
                process.poll()  # reap it: a zombie would still count as a member of the group
                os.killpg(process.pid, 0)
                time.sleep(0.1)
            os.killpg(process.pid, signal.SIGKILL)
        self._process = None  # Airflow may call on_kill again, after the process id was reused


def find_program(name: str) -> str:
    """Return the program's path: next to this Python (the same virtual environment), or on PATH.

    Raises AirflowFailException if it is not found.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if found := shutil.which(name, path=path):
        return found
    raise AirflowFailException(
        f"The program {name} was not found on this worker: install Binlake there, or set its path"
        " as airflow.command in the source's file."
    )
