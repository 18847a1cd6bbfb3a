"""Runs `binlake-task` by spark-submit, over one of Airflow's connections to Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Connection, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from binlake_airflow.command_line import command_line
from binlake_airflow.outcome import Outcome
from binlake_airflow.source_server import server_environment

APPLICATION = Path(__file__).parents[1] / "spark_application" / "binlake_task.py"
_EXIT_CODE = re.compile(r"(?:Kubernetes spark exit code is|Error code is): (\d+)")


class BinlakeSparkOperator(SparkSubmitOperator):
    """A command of Binlake's as a Spark application; `submit` is all else that submits it.

    `server`: the connection to the source server, for the environment of spark-submit, whose child
    the driver is; elsewhere it could get it only by a command line, which everybody reads.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "options")

    def __init__(
        self,
        *,
        command: tuple[str, ...],
        settings: str,
        options: Mapping[str, Any],
        submit: Mapping[str, Any],
        server: str | None = None,
        warn: bool = False,
        **kwargs: Any,
    ) -> None:
        submitted = {"application": str(APPLICATION), "name": "binlake", **submit}
        super().__init__(**submitted, **kwargs)
        self.command = command
        self.settings = settings
        self.options = options
        self.server = server
        self.warn = warn
        self._outcome = Outcome()

    def execute(self, context: Context) -> Any:
        """Submit it; returns what it said of its end, where its driver's output is seen here."""
        self.application_args = command_line(self.command, self.settings, self.options)
        exit_code = 0
        try:
            with self._environment():
                super().execute(context)
        except AirflowException as error:
            exit_code = exit_code_in(str(error))
            if not exit_code:
                raise
        self._outcome.settle(self.command, exit_code, warn=self.warn)
        return self._outcome.told(context["ti"].try_number)

    @contextmanager
    def _environment(self) -> Iterator[None]:
        """This process's, which is this task's alone, has what tells the source server."""
        if self.server is not None and self._is_elsewhere():
            raise AirflowFailException(
                "The driver is elsewhere (deploy mode cluster), and has not got this task's"
                " environment: set no server in the section airflow, but server.password_file in"
                " the settings, a file that is there; or submit in client mode."
            )
        before = dict(os.environ)
        os.environ.update(server_environment(self.server))
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def _is_elsewhere(self) -> bool:
        mode = self._deploy_mode or Connection.get(self._conn_id).extra_dejson.get("deploy-mode")
        return mode == "cluster"

    def _get_hook(self) -> SparkSubmitHook:
        """The provider's, whose lines are read along: it has no other place to do that."""
        hook = super()._get_hook()
        log = hook._process_spark_submit_log

        def follow(lines: Iterable[str]) -> None:
            log(self._outcome.follow(lines))

        vars(hook)["_process_spark_submit_log"] = follow
        return hook


def exit_code_in(message: str) -> int:
    """The exit code that the provider's error tells, the driver's rather than its own; or 0."""
    codes = [int(code) for code in _EXIT_CODE.findall(message)]
    return next((code for code in reversed(codes) if code), 0)
