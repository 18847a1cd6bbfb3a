"""How a command ended: what its exit code and its last line mean for the task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

WRONG = 2
"""The exit code for a wrong configuration or command line: no retry can help."""
FAULTS = 3
"""The exit code for work that is done, but with faults, gaps, or tables that are held."""

_FAULTS = {
    "seed": "A table could not be seeded",
    "verify": "Gold is not what the server has, or not of the same place in its log",
}
"""What faults are to commands that tell of others than a lake's: the lake is not looked at."""

KEPT = ("outcome", "cut_lsn", "cut_committed_at", "published_at", "lag_seconds", "rows_applied")
_ENDINGS = frozenset({"run_finished", "run_failed", "failed"})


class Outcome:
    """Reads along in what a command says of itself."""

    def __init__(self) -> None:
        self.last: dict[str, Any] = {}
        """The fields of the line that says how the run ended; empty where none did."""

    def follow(self, lines: Iterable[str]) -> Iterator[str]:
        """The same lines."""
        for line in lines:
            if (fields := said(line)) and fields["event"] in _ENDINGS:
                self.last = fields
            yield line

    def told(self, attempt: int) -> dict[str, Any]:
        """What other tasks may want to know: small, as it is kept in Airflow's database."""
        kept = {name: self.last[name] for name in KEPT if name in self.last}
        return {**kept, "attempt": attempt}

    def settle(self, command: Sequence[str], exit_code: int, *, warn: bool = False) -> None:
        """Return where the task has succeeded; raise what Airflow is to make of it elsewhere.

        With `warn`, a task that finds faults is skipped instead of failed.
        """
        reason = f"binlake {command[0]} ended with exit code {exit_code}."
        if detail := self.last.get("error") or self.last.get("message"):
            reason = f"{reason} {detail}"
        if exit_code == FAULTS:
            what = _FAULTS.get(command[0], "Something is held, or files are missing")
            fault = f"{reason} {what}: see this task's log."
            raise (AirflowSkipException if warn else AirflowFailException)(fault)
        if exit_code == WRONG:
            raise AirflowFailException(f"{reason} The settings are wrong: no retry can help.")
        if exit_code:
            raise AirflowException(reason)


def said(line: str) -> dict[str, Any] | None:
    """The fields of one of Binlake's own lines in JSON; None for any other line."""
    if not line.startswith("{"):
        return None
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) and isinstance(fields.get("event"), str) else None
