"""The operator that runs `binlake-task` by spark-submit, on an Airflow connection to Spark."""

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

from binlake_airflow.operators.command_line import command_line
from binlake_airflow.operators.outcome import Outcome
from binlake_airflow.operators.source_server import server_environment

APPLICATION = Path(__file__).parents[2] / "spark_application" / "binlake_task.py"
_EXIT_CODE = re.compile(r"(?:Kubernetes spark exit code is|Error code is): (\d+)")


class BinlakeSparkOperator(SparkSubmitOperator):
    """Operator that runs a Binlake command as a Spark application.

    `submit`: more arguments of SparkSubmitOperator. `server`: the Airflow connection to the source
    server, passed in the environment of spark-submit, which the driver inherits in client mode. In
    cluster mode it could only be passed on the command line, which every user of a machine can
    read, so it is refused.
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
        """Submit the command; return its outcome as an XCom, if the driver's output is visible."""
        self.application_args = command_line(self.command, self.settings, self.options)
        exit_code = 0
        try:
            with self._environment():
                super().execute(context)
        except AirflowException as error:
            exit_code = exit_code_in(str(error))
            if not exit_code:
                raise
        self._outcome.raise_for_exit_code(self.command, exit_code, warn=self.warn)
        return self._outcome.as_xcom(context["ti"].try_number)

    @contextmanager
    def _environment(self) -> Iterator[None]:
        """Set the source server in the environment of this process, which runs this task only."""
        if self.server is not None and self._in_cluster_mode():
            raise AirflowFailException(
                "airflow.server cannot be used in deploy mode cluster: the driver does not inherit"
                " this task's environment. Remove it and set server.password_file in the settings"
                " to a file that the driver can read, or submit in client mode."
            )
        before = dict(os.environ)
        os.environ.update(server_environment(self.server))
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def _in_cluster_mode(self) -> bool:
        mode = self._deploy_mode or Connection.get(self._conn_id).extra_dejson.get("deploy-mode")
        return mode == "cluster"

    def _get_hook(self) -> SparkSubmitHook:
        """Return the provider's hook, patched to pass its log lines through the outcome.

        The provider has no extension point for that.
        """
        hook = super()._get_hook()
        log = hook._process_spark_submit_log

        def follow(lines: Iterable[str]) -> None:
            log(self._outcome.follow(lines))

        vars(hook)["_process_spark_submit_log"] = follow
        return hook


def exit_code_in(message: str) -> int:
    """Return the exit code in the provider's error message, or 0 if it has none.

    The driver's exit code takes precedence over spark-submit's.
    """
    codes = [int(code) for code in _EXIT_CODE.findall(message)]
    return next((code for code in reversed(codes) if code), 0)
