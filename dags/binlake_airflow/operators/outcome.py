"""The outcome of a command: its exit code and its last log line, as Airflow's exceptions and XCom.

docs/reference/exit-codes.md lists the exit codes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

CONFIGURATION_ERROR = 2
"""The exit code for a wrong configuration or command line: a retry cannot help."""
FAULTS = 3
"""The exit code for finished work with faults, gaps, or held tables."""

_NOTHING_YET = "NothingReplicatedError"
"""The error of a command that needs a lake, before the first replication has created it."""

_OWN_SCHEDULES = frozenset({"maintain", "verify"})
"""Commands whose DAG Airflow starts at once for a new source, beside its first replication."""

_FAULTS = {
    "seed": "A table could not be seeded",
    "verify": "Gold differs from the server, or is not at the same position of its log",
}
"""The meaning of exit code 3 by command; for all others, a held table or a missing file."""

XCOM_FIELDS = (
    "outcome",
    "cut_lsn",
    "cut_committed_at",
    "published_at",
    "lag_seconds",
    "rows_applied",
)
_ENDINGS = frozenset({"run_finished", "run_failed", "failed"})


class Outcome:
    """A command's outcome, collected from its log lines."""

    def __init__(self) -> None:
        self.last: dict[str, Any] = {}
        """The fields of the line that ended the run; empty if there was none."""

    def follow(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines unchanged, and keep the one that ends the run."""
        for line in lines:
            if (fields := parse_log_line(line)) and fields["event"] in _ENDINGS:
                self.last = fields
            yield line

    def as_xcom(self, attempt: int) -> dict[str, Any]:
        """Return the few fields that other tasks may need, which Airflow stores in its database."""
        kept = {name: self.last[name] for name in XCOM_FIELDS if name in self.last}
        return {**kept, "attempt": attempt}

    def raise_for_exit_code(
        self, command: Sequence[str], exit_code: int, *, warn: bool = False
    ) -> None:
        """Raise Airflow's exception for an exit code other than 0.

        Faults and configuration errors fail the task without a retry; with `warn`, faults skip it.
        Maintenance and verify are skipped before the first replication.
        """
        reason = f"binlake {command[0]} ended with exit code {exit_code}."
        if detail := self.last.get("error") or self.last.get("message"):
            reason = f"{reason} {detail}"
        if exit_code == FAULTS:
            meaning = _FAULTS.get(command[0], "A table is held, or a file is missing")
            fault = f"{reason} {meaning}: see this task's log."
            raise (AirflowSkipException if warn else AirflowFailException)(fault)
        if command[0] in _OWN_SCHEDULES and self.last.get("error_type") == _NOTHING_YET:
            raise AirflowSkipException(f"Nothing was replicated yet. {detail or ''}".strip())
        if exit_code == CONFIGURATION_ERROR:
            raise AirflowFailException(
                f"{reason} The settings are wrong: fix them and run it again."
            )
        if exit_code:
            raise AirflowException(reason)


def parse_log_line(line: str) -> dict[str, Any] | None:
    """Return the fields of one of Binlake's JSON log lines; None for any other line."""
    if not line.startswith("{"):
        return None
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) and isinstance(fields.get("event"), str) else None
