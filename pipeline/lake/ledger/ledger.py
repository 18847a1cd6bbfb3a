"""What a lake's runs have planned and done, layer by layer: the order they agree on.

A run commits its plan before it does anything, as the next batch of its layer. Of two runs that
plan the same batch one commit wins and both carry out the winner's plan. A plan that is not
finished is finished first, unchanged, by whichever run comes: each of its steps is idempotent
because the plan, once committed, is the only input of a step.

One Delta table, `ledger/batches`, two rows a batch: its plan, then its record. Each row is a file
of its own, of which the table's log tells all but the body: the last batches are found there.
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
from pipeline.lake.delta_log.table import Step
from pipeline.lake.layout import Lake
from pipeline.lake.ledger.ledger_table import (
    FINISHED,
    FORMAT,
    PLANNED,
    Layer,
    batches,
    require_format,
)
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of
from pipeline.lake.tables.tables import Tables
from pipeline.observe import say
from pipeline.observe.current_run import FinishedBatch, run_id, under_way

_BY_NAME = ("events", "rows", "changes")
"""What records have by type or by table."""

_ENTRY = ("source", "layer", "batch", "state", "run_id", "at")
_ENDS = ("source", "layer", "state")
_WINDOWS = (10, 1000, None)
"""How many batches are looked through for what a record has: the last ones first."""
_AT_ONCE = 100
"""Bodies that are read together: one may tell of a thousand tables."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the ledger: one planned or finished batch of a layer."""

    source: str
    layer: str
    batch: int
    state: str
    run_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """What one batch of a layer is to do; `body` is JSON that says it completely.

    `run_id` is of the run that committed it.
    """

    source: str
    layer: Layer
    batch: int
    body: dict[str, Any]
    run_id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class _State:
    """A layer's end: its last plan, and the last finished plan with its record.

    `finished_by`: of the last finished batches, the run whose record the ledger holds.
    """

    planned: Plan | None = None
    finished: Plan | None = None
    record: dict[str, Any] | None = None
    finished_by: Mapping[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Ledger:
    """The ledger of one source as one run sees it, or of all sources if `source` is empty.

    What it has read it keeps, with the plans that it proposes itself, until it finishes a batch or
    is refreshed: then it shows what other runs have added. Raises SettingsError for a lake that
    another release made.
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
        """The ledger among a lake's tables, where there is no Spark."""
        return cls(None, tables.lake, source, _tables=tables)

    @property
    def path(self) -> str:
        """The Delta table."""
        return batches(self.lake).reference

    @property
    def tables(self) -> Tables:
        """By which the ledger is read and committed."""
        if self._tables is None:
            if self.spark is None:
                raise TypeError("a ledger is looked up by Spark, or by tables that it is given")
            self._tables = tables_of(self.spark, self.lake)
        return self._tables

    def refresh(self) -> None:
        """Forget what was read: the next question reads the table again."""
        self._states = self._begun_by_others = None

    def open(self, layer: Layer) -> Plan | None:
        """The plan that was committed and not finished."""
        state = self._state(layer)
        done = state.finished.batch if state.finished else 0
        return state.planned if state.planned and state.planned.batch > done else None

    def take_up(self, layer: Layer) -> Plan | None:
        """The open plan, which this run is about to carry out: it says so."""
        plan = self.open(layer)
        if plan is not None:
            self._say("plan_taken_up", plan, "the plan of another run is taken up")
        return plan

    def last(self, layer: Layer) -> Plan | None:
        """The last finished plan."""
        return self._state(layer).finished

    def record(self, layer: Layer) -> dict[str, Any] | None:
        """What the last finished batch recorded."""
        return self._state(layer).record

    def finished(self, layer: Layer, batch: int) -> tuple[Plan, dict[str, Any]] | None:
        """The plan and the record of any batch that is finished; of the ledger as it is now."""
        found = self._read(_of(layer) & equal("batch", batch), ("state", "body", "run_id"))
        row = {row["state"]: row for row in found.to_pylist()}
        if FINISHED not in row:
            return None
        planned, record = row[PLANNED], json.loads(row[FINISHED]["body"])
        plan = Plan(self.source, layer, batch, json.loads(planned["body"]), planned["run_id"])
        return plan, record

    def batch_with(self, layer: Layer, name: str, value: int) -> int | None:
        """The last finished batch whose record has this number under a name; of the ledger as it is
        now."""
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
        """The plans (their bodies) from one batch to another, some at a time, in no order."""
        for start in range(first, last + 1, _AT_ONCE):
            upto = compare("batch", "<=", min(last, start + _AT_ONCE - 1))
            where = _of(layer) & equal("state", PLANNED) & compare("batch", ">=", start) & upto
            yield from map(json.loads, self._read(where, ("body",)).column("body").to_pylist())

    def propose(self, layer: Layer, body: dict[str, Any]) -> Plan:
        """Commit `body` as the layer's next batch; gives the plan that the ledger holds for it.

        That is another run's plan if it came first, and is to be carried out all the same (it may
        even be finished: carrying it out again changes nothing). An open plan is given unchanged.
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
        """Whether it is this run's plan, not another's that came first."""
        return plan.run_id == self.run_id

    def finish(self, plan: Plan, record: dict[str, Any]) -> None:
        """Commit that the plan is carried out; another run's record of the same batch stays.

        Then the batch is that run's, to tell what it did: each is told once.
        """
        self._write(plan.layer, plan.batch, FINISHED, record)
        # What comes next depends on other layers too, of which other runs may have written.
        self.refresh()
        began = self._began.pop((plan.layer, plan.batch), None)
        seconds = None if began is None else round(time.monotonic() - began, 3)
        run = under_way()
        if run and not self._finished(plan):
            self._say("batch_finished", plan, "done by another run too", seconds=seconds)
            return
        if run:
            run.finished.append(FinishedBatch(plan.layer, plan.batch, plan.run_id, record))
        self._say("batch_finished", plan, "done", seconds=seconds, **figures(record))

    def finished_by_another(self, plan: Plan) -> bool:
        """Whether a plan that this run could not carry out is done: looked up again."""
        self.refresh()
        last = self.last(plan.layer)
        return last is not None and last.batch >= plan.batch

    def history(self, layer: Layer | None = None) -> list[Entry]:
        """Every planned and finished batch of the layer, or of all, in order of time.

        This, and the next two, are of all sources if the ledger was opened with an empty one.
        """
        return _entries(self._read(ALL_ROWS if layer is None else _of(layer), _ENTRY))

    def last_entries(self) -> list[Entry]:
        """The last batch of each source and layer."""
        last = {(entry.source, entry.layer): entry for entry in _entries(self._last(1))}
        return sorted(last.values(), key=_when)

    def sources(self) -> list[str]:
        """The sources of which anything was ever planned."""
        return sorted(set(self._last(1).column("source").to_pylist()))

    def begun_by_others(self) -> Mapping[str, Sequence[str]]:
        """What plans of silver begin (their `begins`, as JSON text), by source, of all others."""
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
            # The last plan may be open; then the one before it is the last finished.
            ends: dict[Layer, list[dict[str, Any]]] = defaultdict(list)
            for row in self._last(2).to_pylist():
                ends[row["layer"]].append(row)
            self._states = {layer: self._end(layer, rows) for layer, rows in ends.items()}
        return self._states.get(layer, _State())

    def _finished(self, plan: Plan) -> bool:
        """Whether the record of a batch is this run's."""
        return self._state(plan.layer).finished_by.get(plan.batch) == self.run_id

    def _own(self) -> Condition:
        return equal("source", self.source) if self.source else ALL_ROWS

    def _read(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        """Columns of the source's rows, of those that are meant."""
        return self._rows(self._own() & where, columns)

    def _rows(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        rows = self.tables.read(batches(self.lake), where, [*columns, "format"])
        require_format(rows, self.lake)
        return rows

    def _last(self, count: int) -> pa.Table:
        """The last rows of each source, layer and state."""
        rows = self.tables.last(batches(self.lake), "batch", _ENDS, count, self._own())
        # A source that is new to the lake comes into what other sources have made.
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
            f"The plan of {layer} batch {batch} is not in {self.path} after it was committed.",
            remedy="Does this store give every reader the latest commit? Run it again.",
        )

    def _say(self, event: str, plan: Plan, message: str, **fields: Any) -> None:
        """A line of the log about a plan; one that is not done yet begins now."""
        if event != "batch_finished":
            self._began[plan.layer, plan.batch] = time.monotonic()
        told = f"{plan.layer}: batch {plan.batch}: {message}"
        other = None if self.wrote(plan) else plan.run_id
        say(event, told, layer=plan.layer, batch=plan.batch, planned_by=other, **fields)

    def _write(self, layer: Layer, batch: int, state: str, body: Mapping[str, Any]) -> None:
        """Add a row, unless there is one for it.

        Whose that is has to be read: Spark does not tell whether it skipped a step.
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
        self.tables.append(table, rows, Step(written_as(self.source, layer, state), batch))


def _entries(rows: pa.Table) -> list[Entry]:
    """All of some rows, in order of time."""
    return sorted((Entry(**row) for row in rows.select(_ENTRY).to_pylist()), key=_when)


def _when(entry: Entry) -> tuple[datetime, int]:
    return entry.at, entry.batch


def _of(layer: Layer) -> Condition:
    return equal("layer", layer)


def written_as(source: str, layer: Layer, state: str) -> str:
    """Under which name (see `Step`) such rows are added; the batch is its version."""
    return f"ledger/{source}/{layer}/{state}"


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), sort_keys=True)


def figures(record: Mapping[str, Any]) -> dict[str, int]:
    """The numbers in a batch's record, and the sums of those that are by name (rows by table)."""
    flat = {**record, **(record.get("counts") or {})}
    return {
        name: sum(value.values()) if isinstance(value, dict) else value
        for name, value in flat.items()
        if isinstance(value, int) or (name in _BY_NAME and isinstance(value, dict))
    }
