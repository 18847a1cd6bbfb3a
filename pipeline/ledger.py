"""What a lake's runs have planned and done, layer by layer: the order they agree on.

A run commits its plan before it does anything, as the next batch of its layer. Of two runs that
plan the same batch one commit wins and both carry out the winner's plan. A plan that is not
finished is finished first, unchanged, by whichever run comes: each of its steps is idempotent
(see `delta`) because the plan, once committed, is the only input of a step.

One Delta table, `ledger/batches`, two rows a batch: its plan, then its record.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession, Window, functions as sf

from pipeline import delta
from pipeline.delta_log import is_latest, latest_version
from pipeline.errors import ConcurrentRunError
from pipeline.interpreted import interpreted, staying_active
from pipeline.lake import Lake
from pipeline.ledger_entries import Entry, entries, last_entries, sources
from pipeline.log_lines import say
from pipeline.sessions import is_connected
from pipeline.under_way import FinishedBatch, run_id, under_way

Layer = Literal["bronze", "silver", "gold", "maintenance"]

_BY_NAME = ("events", "rows", "changes")
"""What records have by type or by table."""

PLANNED = "planned"
FINISHED = "finished"

BATCHES = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("layer", pa.string()),
        pa.field("batch", pa.int64()),
        # planned | finished
        pa.field("state", pa.string()),
        # JSON: what to do (planned), what was done (finished)
        pa.field("body", pa.string()),
        pa.field("run_id", pa.string()),
        pa.field("at", pa.timestamp("us", "UTC")),
    ]
)


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
    """The ledger of one source as one run sees it: read once, then followed through its own writes.

    What another run adds meanwhile shows behind a batch that this one finishes, or after `refresh`.
    Invariant: `_states`, and what is known of other sources, is what the table has at version
    `_version`, or at a later one; where that is not known (None), nothing is kept for long.
    """

    spark: SparkSession
    lake: Lake
    source: str
    run_id: str = field(default_factory=run_id)
    _states: dict[Layer, _State] | None = None
    _begun_by_others: Mapping[str, Sequence[str]] | None = None
    _version: int | None = None
    _session: SparkSession | None = None
    _began: dict[tuple[str, int], float] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The Delta table."""
        return self.lake.ledger("batches")

    def refresh(self) -> None:
        """Forget what was read, unless nothing was committed since: the next question reads the
        table again."""
        if self._version is None or not is_latest(self.path, self._version):
            self._forget()

    def _forget(self) -> None:
        self._states = self._begun_by_others = self._version = None

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
        rows = self._rows().where((sf.col("layer") == layer) & (sf.col("batch") == batch))
        body = {row["state"]: row for row in rows.select("state", "body", "run_id").collect()}
        if FINISHED not in body:
            return None
        planned, record = body[PLANNED], json.loads(body[FINISHED]["body"])
        plan = Plan(self.source, layer, batch, json.loads(planned["body"]), planned["run_id"])
        return plan, record

    def batch_with(self, layer: Layer, name: str, value: int) -> int | None:
        """The last finished batch whose record has this number under a name."""
        kept = sf.get_json_object("body", f"$.{name}").cast("bigint") == value
        done = (sf.col("layer") == layer) & (sf.col("state") == FINISHED)
        row = self._rows().where(done & kept).agg(sf.max("batch")).first()
        return None if row is None else row[0]

    def propose(self, layer: Layer, body: dict[str, Any]) -> Plan:
        """Commit `body` as the layer's next batch; gives the plan that the ledger holds for it.

        That is another run's plan if it came first, and is to be carried out all the same (it may
        even be finished: carrying it out again changes nothing). An open plan is given unchanged.
        """
        if plan := self.open(layer):
            return plan
        last = self.last(layer)
        batch = last.batch + 1 if last else 1
        text = _text(body)
        if self._write(layer, batch, PLANNED, text):
            plan = Plan(self.source, layer, batch, json.loads(text), self.run_id)
        else:
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
        text = _text(record)
        own = self._write(plan.layer, plan.batch, FINISHED, text)
        if self._version is None:
            # What comes next depends on other layers too, of which other runs may have written.
            self._forget()
        else:
            self._note_finished(plan, json.loads(text))
        began = self._began.pop((plan.layer, plan.batch), None)
        seconds = None if began is None else round(time.monotonic() - began, 3)
        run = under_way()
        if run and not own and not self._finished(plan):
            self._say("batch_finished", plan, "done by another run too", seconds=seconds)
            return
        if run:
            run.finished.append(FinishedBatch(plan.layer, plan.batch, plan.run_id, record))
        self._say("batch_finished", plan, "done", seconds=seconds, **figures(record))

    def _note_finished(self, plan: Plan, record: dict[str, Any]) -> None:
        """Take up a record that was the next commit behind what is known."""
        before = self._state(plan.layer)
        by = {**before.finished_by, plan.batch: self.run_id}
        after = replace(before, finished=plan, record=record, finished_by=by)
        self._states = {**(self._states or {}), plan.layer: after}

    def finished_by_another(self, plan: Plan) -> bool:
        """Whether a plan that this run could not carry out is done: looked up anew."""
        self.refresh()
        last = self.last(plan.layer)
        return last is not None and last.batch >= plan.batch

    def history(self, layer: Layer | None = None) -> list[Entry]:
        """Every planned and finished batch of the layer, or of all, in order of time.

        This, and the next two, are of all sources if the ledger was opened with an empty one.
        """
        rows = self._rows_if_any()
        if rows is None:
            return []
        return entries(rows if layer is None else rows.where(sf.col("layer") == layer))

    def last_entries(self) -> list[Entry]:
        """The last batch of each source and layer."""
        rows = self._rows_if_any()
        return [] if rows is None else last_entries(rows)

    def sources(self) -> list[str]:
        """The sources of which anything was ever planned."""
        rows = self._rows_if_any()
        return [] if rows is None else sources(rows)

    def begun_by_others(self) -> Mapping[str, Sequence[str]]:
        """What plans of silver begin (their `begins`, as JSON text), by source, of all others."""
        if self._begun_by_others is None:
            self._read_version()
            self._begun_by_others = self._read_begun_by_others()
        return self._begun_by_others

    def _state(self, layer: Layer) -> _State:
        if self._states is None:
            self._read_version()
            self._states = self._read_states()
        return self._states.get(layer, _State())

    def _read_version(self) -> None:
        """Before anything else is read: what is committed meanwhile then shows as newer."""
        if self._states is None and self._begun_by_others is None:
            self._version = latest_version(self.path)

    def _finished(self, plan: Plan) -> bool:
        """Whether the record of a batch is this run's."""
        return self._state(plan.layer).finished_by.get(plan.batch) == self.run_id

    def _own_session(self) -> SparkSession:
        """One in which nothing is compiled, for so few rows, and nothing else is committed.

        Behind Spark Connect, where a session more costs more than that saves, there is none.
        """
        if self._session is None:
            connected = is_connected(self.spark)
            self._session = self.spark if connected else interpreted(self.spark)
        return self._session

    def _rows(self) -> DataFrame:
        rows = delta.read(self._own_session(), self.path)
        if self.source:
            rows = rows.where(sf.col("source") == self.source)
        return rows.coalesce(1)  # small enough that a shuffle would cost more than it gives

    def _rows_if_any(self) -> DataFrame | None:
        """None before the first batch."""
        return self._rows() if delta.exists(self._own_session(), self.path) else None

    def _read_begun_by_others(self) -> Mapping[str, Sequence[str]]:
        session = self._own_session()
        if not delta.exists(session, self.path):
            return {}
        begins = sf.get_json_object("body", "$.begins").alias("begins")
        silver = (sf.col("layer") == "silver") & (sf.col("state") == PLANNED)
        planned = delta.read(session, self.path).where((sf.col("source") != self.source) & silver)
        found: dict[str, list[str]] = defaultdict(list)
        for row in (
            planned.select("source", begins).where("begins IS NOT NULL").coalesce(1).collect()
        ):
            found[row["source"]].append(row["begins"])
        return found

    def _read_states(self) -> dict[Layer, _State]:
        if not delta.exists(self._own_session(), self.path):
            return {}
        latest = Window.partitionBy("layer", "state").orderBy(sf.col("batch").desc())
        ends = (
            self._rows()
            .withColumn("age", sf.row_number().over(latest))
            # The last plan may be open; then the one before it is the last finished.
            .where("age <= 2")
            .select("layer", "batch", "state", "body", "run_id")
            .collect()
        )
        return {layer: self._end(layer, ends) for layer in {row["layer"] for row in ends}}

    def _end(self, layer: Layer, rows: list[Row]) -> _State:
        own = [row for row in rows if row["layer"] == layer]
        plans = {
            row["batch"]: Plan(
                self.source, layer, row["batch"], json.loads(row["body"]), row["run_id"]
            )
            for row in own
            if row["state"] == PLANNED
        }
        records = {row["batch"]: row["body"] for row in own if row["state"] == FINISHED}
        done = max(records, default=0)
        record = json.loads(records[done]) if done else None
        by = {row["batch"]: row["run_id"] for row in own if row["state"] == FINISHED}
        return _State(plans[max(plans)], plans.get(done), record, by)

    def _read_plan(self, layer: Layer, batch: int) -> Plan:
        row = (
            self._rows()
            .where((sf.col("layer") == layer) & (sf.col("batch") == batch))
            .where(sf.col("state") == PLANNED)
            .select("body", "run_id")
            .first()
        )
        if row is None:
            raise ConcurrentRunError(
                f"The plan of {layer} batch {batch} is not in {self.path} after it was committed.",
                remedy="Does this store give every reader the latest commit? Run it again.",
            )
        return Plan(self.source, layer, batch, json.loads(row["body"]), row["run_id"])

    def _say(self, event: str, plan: Plan, message: str, **fields: Any) -> None:
        """A line of the log about a plan; one that is not done yet begins now."""
        if event != "batch_finished":
            self._began[plan.layer, plan.batch] = time.monotonic()
        told = f"{plan.layer}: batch {plan.batch}: {message}"
        other = None if self.wrote(plan) else plan.run_id
        say(event, told, layer=plan.layer, batch=plan.batch, planned_by=other, **fields)

    def _write(self, layer: Layer, batch: int, state: str, body: str) -> bool:
        """Add a row, unless there is one for it; True where this is known to be the one.

        False where that is not known, so that who asks has to look.
        """
        row = {
            "source": self.source,
            "layer": layer,
            "batch": batch,
            "state": state,
            "body": body,
            "run_id": self.run_id,
            "at": datetime.now(timezone.utc),
        }
        table = pa.Table.from_pylist([row], schema=BATCHES)
        app = written_as(self.source, layer, state)
        session = self._own_session()

        def append() -> None:
            rows = session.createDataFrame(table).coalesce(1)
            delta.append_once(rows, self.path, app=app, version=batch)

        if session is self.spark:
            append()
            self._follow(None)
            return False
        with staying_active(self.spark):
            version = delta.committed(session, append)
        self._follow(version)
        return version is not None

    def _follow(self, version: int | None) -> None:
        """Where what is known stands behind an own commit: there, if that was the next one."""
        known = self._version is not None and version == self._version + 1
        self._version = version if known else None


def written_as(source: str, layer: Layer, state: str) -> str:
    """Under which name (see `delta`) such rows are added; the batch is its version."""
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
