"""A ledger without a lake, for tests of what is planned from it."""

from __future__ import annotations

import json
from typing import Any, cast

from pyspark.sql import Row, SparkSession

from pipeline.lake import Lake
from pipeline.ledger import PLANNED, Layer, Ledger, Plan, _State

Rows = list[dict[str, Any]]


class MemoryLedger(Ledger):
    """Plans and records in a list, which several ledgers may share as runs share a table."""

    def __init__(self, rows: Rows | None = None) -> None:
        super().__init__(cast(SparkSession, None), Lake("/lake"), "shop")
        self.kept: Rows = [] if rows is None else rows

    def did(self, layer: Layer, body: dict[str, Any], record: dict[str, Any] | None = None) -> Plan:
        """One more batch, planned and finished."""
        plan = self.propose(layer, body)
        self.finish(plan, record or {})
        return plan

    def _write(self, layer: Layer, batch: int, state: str, body: str) -> bool:
        if self._found(layer, batch, state):
            return False
        told = {"layer": layer, "batch": batch, "state": state, "body": body}
        self.kept.append({**told, "run_id": self.run_id})
        return True

    def _found(self, layer: str, batch: int, state: str) -> list[dict[str, Any]]:
        place = (layer, batch, state)
        return [row for row in self.kept if (row["layer"], row["batch"], row["state"]) == place]

    def _read_states(self) -> dict[Layer, _State]:
        rows = cast(list[Row], self.kept)
        return {layer: self._end(layer, rows) for layer in {row["layer"] for row in rows}}

    def _read_plan(self, layer: Layer, batch: int) -> Plan:
        (row,) = self._found(layer, batch, PLANNED)
        return Plan(self.source, layer, batch, json.loads(row["body"]), row["run_id"])
