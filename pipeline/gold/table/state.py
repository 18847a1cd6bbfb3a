"""State of every gold table: the body of gold's plans.

A plan holds the state that each table has once it is carried out. So the last finished plan is
gold's current state, and the next plan starts from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from decoder import TableDefinition
from pipeline.errors import BinlakeError
from pipeline.gold.table.damage import Damage
from pipeline.lake import Ledger
from pipeline.lake.ledger.ledger import Plan
from pipeline.observe.report import sentences_by_cause
from pipeline.schema_history import TableName

NO_LSN = 0
"""Before every transaction: an LSN is never 0, since a binary log starts with a magic number."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The transaction at `lsn` has changes that cannot be applied to a table, for `reason`.

    This is only found while a batch is applied: it continues without the table, and the next plan
    holds it. `passable`: gold may skip them (`on_fault: mark`); the table then differs from the
    source's.
    """

    lsn: int
    reason: str
    passable: bool = True


class TableRefusedError(BinlakeError):
    """Raised if a part of a table's batch cannot be applied; nothing of the part is written."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class TableState:
    """State of one table: its plan applies the changes in (`from_lsn`, `to_lsn`].

    `complete`: gold equals the source's table at `to_lsn`; if not, `reason` says why. `held`: why
    the table stops there although `cut_lsn` is later. `version`: the silver table `v<N>` whose
    columns gold has, None while there is no gold table. `key`: the key columns in the settings;
    if empty, each part of a batch uses its definition's own key. `touched`: it has changes to
    apply. `complete_from`: no change is missing at `from_lsn`; `marked`: LSNs of later faults that
    gold skips. `refused`: the changes that could not be applied under this `key`. `taken_over`:
    RENAMEs at which it gets another table's rows (LSN), and whether those are complete. `seed`: ID
    of the last seed whose rows were loaded. `damage`: damage to the gold table itself.
    `refresh`: the batch that rebuilt this table alone from silver (0: none).
    """

    schema: str
    table: str
    from_lsn: int = NO_LSN
    to_lsn: int = NO_LSN
    complete: bool = False
    held: str | None = None
    reason: str | None = None
    version: int | None = None
    key: tuple[str, ...] = ()
    dropped: bool = False
    touched: bool = False
    complete_from: bool = False
    marked: tuple[int, ...] = ()
    refused: Refusal | None = None
    taken_over: tuple[tuple[int, bool], ...] = ()
    seed: str = ""
    damage: Damage | None = None
    refresh: int = 0

    @property
    def name(self) -> TableName:
        """The source's table."""
        return TableName(self.schema, self.table)

    def key_of(self, definition: TableDefinition | None) -> tuple[str, ...]:
        """Return the columns that identify its rows: those in the settings, or the definition's."""
        return self.key or (definition.key if definition else ())

    def at_rest(self, reason: str, held: str | None = None) -> TableState:
        """Return the state with nothing to apply, and not equal to the source's table."""
        return replace(
            self,
            from_lsn=self.to_lsn,
            complete=False,
            held=held,
            reason=reason,
            touched=False,
            complete_from=False,
            marked=(),
            taken_over=(),
        )

    def damaged(self, damage: Damage) -> TableState:
        """Return the state as a damaged table, which is held."""
        held, before = damage.held(self.name), self.recovered()
        damage = replace(damage, whole=before.complete, lacked=before.reason)
        return replace(self.at_rest(held, held), damage=damage)

    def recovered(self) -> TableState:
        """Return the state without its damage."""
        if self.damage is None:
            return self
        return replace(
            self,
            complete=self.damage.whole,
            held=None,
            reason=self.damage.lacked,
            damage=None,
        )


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Gold's part of the full refresh that its tables come from; `batch` began it (0: none).

    `silver`: the batch that began the refresh of silver from which they are built; `reached`: the
    same for the last published snapshot. `under_way`: it has published none yet. `upto`: LSN of
    the previous snapshot. `settings_digest`: that of the settings in effect (see `plan.rebuild`).
    """

    batch: int = 0
    silver: int = 0
    reached: int = 0
    under_way: bool = False
    upto: int = NO_LSN
    settings_digest: str = ""


@dataclass(frozen=True, slots=True)
class GoldState:
    """State of all tables after a batch: each is applied up to `cut_lsn`, or held before it.

    `cut_held`: why `cut_lsn` is not silver's last transaction. `drop_rows`: a DROP in the source
    deletes the rows in gold. `xa_from`: XA transactions prepared before this LSN no longer affect
    any table (0: not determined). `mark_faults`: tables continue without changes that cannot be
    decoded. `cascades`: ID of the plan's foreign key cascades, which the log does not have
    (`pipeline.gold.cascades.cascades_table`). `rebuild`: the full refresh that all tables come
    from. `signed`: all commits of the plan carry gold's signature (`gold.table.commits`).
    """

    silver_batch: int = 0
    cut_lsn: int = NO_LSN
    cut_held: str | None = None
    drop_rows: bool = False
    tables: Mapping[TableName, TableState] = field(default_factory=dict)
    xa_from: int = NO_LSN
    mark_faults: bool = False
    cascades: str | None = None
    rebuild: Rebuild = field(default_factory=Rebuild)
    signed: bool = False

    def to_body(self) -> dict[str, Any]:
        """Return the state as the JSON body of a plan."""
        tables = [asdict(self.tables[name]) for name in sorted(self.tables)]
        return {**asdict(replace(self, tables={})), "tables": tables}

    def overrides(self) -> dict[str, Any]:
        """Return the part that a record overrides if tables stop before the end of the plan."""
        body = self.to_body()
        return {"xa_from": body["xa_from"], "tables": body["tables"]}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> GoldState:
        """Read what `to_body` wrote."""
        tables = {table.name: table for table in _TABLES.validate_python(body["tables"])}
        return replace(_STATE.validate_python({**body, "tables": {}}), tables=tables)

    @classmethod
    def of(cls, ledger: Ledger) -> GoldState:
        """Return gold's state after the last finished batch."""
        last = ledger.last("gold")
        return cls() if last is None else cls.after(last, ledger.record("gold") or {})

    @classmethod
    def after(cls, plan: Plan, record: Mapping[str, Any]) -> GoldState:
        """Return gold's state after a batch."""
        return cls.from_body({**plan.body, **(record.get("state") or {})})

    def without_refusals(self) -> GoldState:
        """Return the state without refusals and without damage that a retry may find repaired."""
        tables = {
            name: replace(table if _is_final(table) else table.recovered(), refused=None)
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables)

    def with_damaged(self, damages: Mapping[TableName, Damage]) -> GoldState:
        """Return the state with these tables damaged."""
        found = {name: self.tables[name].damaged(damage) for name, damage in damages.items()}
        return replace(self, tables={**self.tables, **found}) if found else self

    def holds(self, table: TableState) -> str | None:
        """Return why the table is held: on its own or because all are; None if it is not."""
        return table.held or self.cut_held

    def held(self) -> list[str]:
        """Return a sentence for each held table, those that wait for another table last."""
        held = [(str(table.name), table.held) for table in self.tables.values() if table.held]
        held.sort(key=lambda one: one[1].startswith("it waits for "))
        reasons = sentences_by_cause(held, "{} is held: {}".format)
        return [*reasons, *([f"Every table is held: {self.cut_held}"] if self.cut_held else [])]


def _is_final(table: TableState) -> bool:
    return table.damage is not None and table.damage.final


_STATE = TypeAdapter(GoldState)
_TABLES = TypeAdapter(list[TableState])
