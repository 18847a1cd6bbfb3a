"""The ledger: plans and records of batches, which order the work of all runs in each layer.

A run commits its plan, as the next batch of its layer, before it does anything else. If two runs
plan the same batch, one commit wins, and both carry out the winner's plan. An unfinished plan is
finished first, unchanged, by the next run: each of its steps is idempotent, because the committed
plan is a step's only input.

The ledger is one Delta table, `ledger/batches`, with two rows per batch: its plan, then its record.
Each row is a file of its own, and the table's log has the statistics of all its columns except
`body`: so the last batches are found from the log alone.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from pipeline.errors import ConcurrentRunError
from pipeline.lake.delta_log.conditions import ALL_ROWS, Condition, compare, equal, missing
from pipeline.lake.delta_step import Step
from pipeline.lake.layout import Lake
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.ledger_table import (
    FINISHED,
    FORMAT,
    PLANNED,
    Layer,
    batches,
    require_format,
)
from pipeline.lake.tables.choice import tables_of
from pipeline.lake.tables.tables import Tables
from pipeline.observe import say
from pipeline.observe.current_run import FinishedBatch, run_id, under_way

_BY_NAME = ("events", "rows", "changes")
"""Figures that records keep by event type or by table."""

_ENTRY = ("source", "layer", "batch", "state", "run_id", "at")
_ENDS = ("source", "layer", "state")
_WINDOWS = (10, 1000, None)
"""Number of batches to search for a value in their records, latest first."""
_AT_ONCE = 100
"""Bodies read at a time: one may list a thousand tables."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the ledger: a batch of a layer that is planned (under way, or left by a killed run)
    or finished."""

    source: str
    layer: str
    batch: int
    state: str
    run_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one batch of a layer; `body` is JSON that describes the work completely.

    `run_id`: the run that committed it.
    """

    source: str
    layer: Layer
    batch: int
    body: dict[str, Any]
    run_id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class _State:
    """The latest state of a layer: its last plan, and the last finished plan with its record.

    `finished_by`: for the last finished batches, the run whose record is in the ledger.
    """

    planned: Plan | None = None
    finished: Plan | None = None
    record: dict[str, Any] | None = None
    finished_by: Mapping[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Ledger:
    """The ledger of one source as one run sees it, or of all sources if `source` is empty.

    Rows that were read are cached, along with this run's own plans, until a batch is finished or
    `refresh` is called: only then it sees what other runs have added. Raises SettingsError for a
    lake of another release's format.
    """

    spark: Spark | None
    lake: Lake
    source: str
    run_id: str = field(default_factory=run_id)
    _tables: Tables | None = None
    _states: dict[Layer, _State] | None = None
    _begun_by_others: Mapping[str, Sequence[str]] | None = None
    _began: dict[tuple[str, int], float] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Tables, source: str) -> Ledger:
        """Return the ledger of a lake's tables, without Spark."""
        return cls(None, tables.lake, source, _tables=tables)

    @property
    def path(self) -> str:
        """The path or name of its Delta table."""
        return batches(self.lake).reference

    @property
    def tables(self) -> Tables:
        """The tables that the ledger is read and committed with."""
        if self._tables is None:
            if self.spark is None:
                raise TypeError("a ledger needs Spark or tables")
            self._tables = tables_of(self.spark, self.lake)
        return self._tables

    def refresh(self) -> None:
        """Drop the cache: the next query reads the table again."""
        self._states = self._begun_by_others = None

    def open(self, layer: Layer) -> Plan | None:
        """Return the plan that is committed but not finished, if any."""
        state = self._state(layer)
        done = state.finished.batch if state.finished else 0
        return state.planned if state.planned and state.planned.batch > done else None

    def resume_open(self, layer: Layer) -> Plan | None:
        """Return the open plan, if any, and log that this run resumes it."""
        plan = self.open(layer)
        if plan is not None:
            self._say("plan_resumed", plan, "resuming the plan of another run")
        return plan

    def last(self, layer: Layer) -> Plan | None:
        """Return the last finished plan."""
        return self._state(layer).finished

    def record(self, layer: Layer) -> dict[str, Any] | None:
        """Return the record of the last finished batch."""
        return self._state(layer).record

    def finished(self, layer: Layer, batch: int) -> tuple[Plan, dict[str, Any]] | None:
        """Return plan and record of a batch; None if it is not finished. Reads the table."""
        found = self._read(_of(layer) & equal("batch", batch), ("state", "body", "run_id"))
        row = {row["state"]: row for row in found.to_pylist()}
        if FINISHED not in row:
            return None
        planned, record = row[PLANNED], json.loads(row[FINISHED]["body"])
        plan = Plan(self.source, layer, batch, json.loads(planned["body"]), planned["run_id"])
        return plan, record

    def time_of(self, layer: Layer, batch: int, state: str) -> datetime | None:
        """Return when a batch was planned or finished; None if it was not. Reads the table."""
        found = self._read(_of(layer) & equal("batch", batch) & equal("state", state), ("at",))
        return next(iter(found.column("at").to_pylist()), None)

    def batch_with(self, layer: Layer, name: str, value: int) -> int | None:
        """Return the last finished batch whose record has `value` under `name`. Reads the table."""
        self.refresh()
        below = last.batch + 1 if (last := self.last(layer)) else 1
        for window in _WINDOWS:
            first = 1 if window is None else max(1, below - window)
            where = _of(layer) & equal("state", FINISHED) & compare("batch", ">=", first)
            rows = self._read(where & compare("batch", "<", below), ("batch", "body")).to_pylist()
            found = [row["batch"] for row in rows if json.loads(row["body"]).get(name) == value]
            if found or first == 1:
                return max(found, default=None)
            below = first
        raise AssertionError("the last window has no end")

    def planned(self, layer: Layer, first: int, last: int) -> Iterator[dict[str, Any]]:
        """Yield the bodies of the plans of batches `first` to `last`, in no particular order."""
        for start in range(first, last + 1, _AT_ONCE):
            upto = compare("batch", "<=", min(last, start + _AT_ONCE - 1))
            where = _of(layer) & equal("state", PLANNED) & compare("batch", ">=", start) & upto
            yield from map(json.loads, self._read(where, ("body",)).column("body").to_pylist())

    def propose(self, layer: Layer, body: dict[str, Any]) -> Plan:
        """Commit `body` as the plan of the layer's next batch; return the plan in the ledger.

        If another run committed first, that is its plan, which must be carried out all the same (if
        it is already finished, that is a no-op). If a plan is open, it is returned unchanged.
        """
        if plan := self.open(layer):
            return plan
        last = self.last(layer)
        batch = last.batch + 1 if last else 1
        self._write(layer, batch, PLANNED, body)
        plan = self._read_plan(layer, batch)
        self._states = {**(self._states or {}), layer: replace(self._state(layer), planned=plan)}
        self._say("plan_committed", plan, "planned")
        return plan

    def wrote(self, plan: Plan) -> bool:
        """Return True if this run committed the plan, False if another run did."""
        return plan.run_id == self.run_id

    def finish(self, plan: Plan, record: dict[str, Any]) -> None:
        """Commit the record of a plan that was carried out.

        If another run has committed one for the same batch, that record stays, and only that run
        reports the batch.
        """
        self._write(plan.layer, plan.batch, FINISHED, record)
        # The next plan depends on other layers too, to which other runs may have added batches.
        self.refresh()
        began = self._began.pop((plan.layer, plan.batch), None)
        seconds = None if began is None else round(time.monotonic() - began, 3)
        run = under_way()
        if run and not self._finished(plan):
            self._say("batch_finished", plan, "already done by another run", seconds=seconds)
            return
        if run:
            run.finished.append(FinishedBatch(plan.layer, plan.batch, plan.run_id, record))
        self._say("batch_finished", plan, "done", seconds=seconds, **figures(record))

    def finished_by_another(self, plan: Plan) -> bool:
        """Return True if a plan that this run could not carry out is finished. Reads the table."""
        self.refresh()
        last = self.last(plan.layer)
        return last is not None and last.batch >= plan.batch

    def history(self, layer: Layer | None = None) -> list[Entry]:
        """Return every planned and finished batch of the layer, or of all layers, by time.

        This method and the next two cover all sources if the ledger's source is empty.
        """
        return _entries(self._read(ALL_ROWS if layer is None else _of(layer), _ENTRY))

    def last_entries(self) -> list[Entry]:
        """Return the last batch of each source and layer, by time."""
        last = {(entry.source, entry.layer): entry for entry in _entries(self._last(1))}
        return sorted(last.values(), key=_when)

    def sources(self) -> list[str]:
        """Return the sources with at least one plan."""
        return sorted(set(self._last(1).column("source").to_pylist()))

    def refreshes_by_others(self) -> Mapping[str, Sequence[str]]:
        """Return the full refreshes that silver's plans of other sources begin, by source.

        They are the plans' `begins`, as JSON text.
        """
        if self._begun_by_others is None:
            begins = _of("silver") & equal("state", PLANNED) & ~missing("begins")
            rows = self._rows(begins & ~equal("source", self.source), ("source", "begins"))
            found: dict[str, list[str]] = defaultdict(list)
            for row in rows.to_pylist():
                found[row["source"]].append(row["begins"])
            self._begun_by_others = found
        return self._begun_by_others

    def _state(self, layer: Layer) -> _State:
        if self._states is None:
            # If the last plan is open, the previous one is the last finished.
            ends: dict[Layer, list[dict[str, Any]]] = defaultdict(list)
            for row in self._last(2).to_pylist():
                ends[row["layer"]].append(row)
            self._states = {layer: self._end(layer, rows) for layer, rows in ends.items()}
        return self._states.get(layer, _State())

    def _finished(self, plan: Plan) -> bool:
        """Return True if the batch's record in the ledger is this run's."""
        return self._state(plan.layer).finished_by.get(plan.batch) == self.run_id

    def _own(self) -> Condition:
        return equal("source", self.source) if self.source else ALL_ROWS

    def _read(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        """Read columns of the source's rows that match `where`."""
        return self._rows(self._own() & where, columns)

    def _rows(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        rows = self.tables.read(batches(self.lake), where, [*columns, "format"])
        require_format(rows, self.lake)
        return rows

    def _last(self, count: int) -> pa.Table:
        """Read the last `count` rows of each source, layer and state."""
        rows = self.tables.last(batches(self.lake), "batch", _ENDS, count, self._own())
        # For a source that is new to the lake, check the format by other sources' rows.
        known = (
            rows if len(rows) else self.tables.last(batches(self.lake), "batch", _ENDS, 1, ALL_ROWS)
        )
        require_format(known, self.lake)
        return rows

    def _end(self, layer: Layer, rows: Sequence[Mapping[str, Any]]) -> _State:
        plans = {
            row["batch"]: Plan(
                self.source, layer, row["batch"], json.loads(row["body"]), row["run_id"]
            )
            for row in rows
            if row["state"] == PLANNED
        }
        records = {row["batch"]: row for row in rows if row["state"] == FINISHED}
        done = max(records, default=0)
        record = json.loads(records[done]["body"]) if done else None
        by = {batch: row["run_id"] for batch, row in records.items()}
        return _State(plans[max(plans)], plans.get(done), record, by)

    def _read_plan(self, layer: Layer, batch: int) -> Plan:
        where = _of(layer) & equal("batch", batch) & equal("state", PLANNED)
        for row in self._read(where, ("body", "run_id")).to_pylist():
            return Plan(self.source, layer, batch, json.loads(row["body"]), row["run_id"])
        raise ConcurrentRunError(
            f"The plan of {layer} batch {batch} was committed to {self.path}, but is not found"
            " there.",
            remedy="Check that the store is strongly consistent, and run again.",
        )

    def _say(self, event: str, plan: Plan, message: str, **fields: Any) -> None:
        """Log an event of a plan; any but `batch_finished` starts the batch's timer."""
        if event != "batch_finished":
            self._began[plan.layer, plan.batch] = time.monotonic()
        text = f"{plan.layer}: batch {plan.batch}: {message}"
        other = None if self.wrote(plan) else plan.run_id
        say(event, text, layer=plan.layer, batch=plan.batch, planned_by=other, **fields)

    def _write(self, layer: Layer, batch: int, state: str, body: Mapping[str, Any]) -> None:
        """Add a row, unless the batch has one in this state.

        Whose row it is must be read back: Spark does not report whether it skipped a step.
        """
        begins = body.get("begins") if state == PLANNED and layer == "silver" else None
        row = {
            "source": self.source,
            "layer": layer,
            "batch": batch,
            "state": state,
            "body": _text(body),
            "begins": None if begins is None else _text(begins),
            "run_id": self.run_id,
            "at": datetime.now(timezone.utc),
            "format": FORMAT,
        }
        table = batches(self.lake)
        rows = pa.Table.from_pylist([row], schema=table.schema)
        self.tables.append(table, rows, Step(txn_app_of(self.source, layer, state), batch))


def _entries(rows: pa.Table) -> list[Entry]:
    """Return the rows as entries, by time."""
    return sorted((Entry(**row) for row in rows.select(_ENTRY).to_pylist()), key=_when)


def _when(entry: Entry) -> tuple[datetime, int]:
    return entry.at, entry.batch


def _of(layer: Layer) -> Condition:
    return equal("layer", layer)


def txn_app_of(source: str, layer: Layer, state: str) -> str:
    """Return the `app` of the `Step` that adds a row; its version is the batch."""
    return f"ledger/{source}/{layer}/{state}"


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), sort_keys=True)


def figures(record: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers in a batch's record; those by type or by table are summed up."""
    flat = {**record, **(record.get("counts") or {})}
    return {
        name: sum(value.values()) if isinstance(value, dict) else value
        for name, value in flat.items()
        if isinstance(value, int) or (name in _BY_NAME and isinstance(value, dict))
    }
