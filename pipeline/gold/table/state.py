"""Where every gold table stands: the body of gold's plans.

A plan says where each table is to be when it is carried out. So the last finished plan is gold's
state, and the next plan starts from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from pipeline.catalog import TableName
from pipeline.gold.table.damage import Damage
from pipeline.gold.table.refusal import Refusal
from pipeline.lake import Ledger
from pipeline.lake.ledger.ledger import Plan
from pipeline.observe.report import one_for_each_cause

NO_LSN = 0
"""Before every transaction: an LSN is never 0, since a file begins with its magic number."""


@dataclass(frozen=True, slots=True)
class TableState:
    """One table: the changes in (`from_lsn`, `to_lsn`] are applied by the plan that holds it.

    `held` says why it goes no further than that although the cut does. `complete` tells whether
    gold then equals the source's table; if not, `reason` says why. `version` is the silver table
    `v<N>` whose columns gold has, None while there is no gold table. `key` names the columns that
    tell its rows apart if conf says so; else each part of a batch has its definition's own.
    `touched` tells whether there is anything to apply. `complete_from`: whether none of its changes
    is missing at `from_lsn`; `marked` are the faults after it that gold goes on without. `refused`
    is what could not be applied when it was tried, under this `key`. `taken_over`: where it takes
    over another table's rows (LSN), and whether none of these is missing. `seed`: the id of the
    last seed whose rows it got. `damage`: what is wrong with the gold table itself. `refresh`: the
    batch that made this table again from silver (0: none did, but for a full refresh of all).
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

    def damaged(self, damage: Damage) -> TableState:
        """Where a table stands that is not what Binlake left: it is not said to equal the
        source's."""
        held, before = damage.held(self.name), self.recovered()
        return replace(
            self,
            from_lsn=self.to_lsn,
            complete=False,
            held=held,
            reason=held,
            touched=False,
            complete_from=False,
            marked=(),
            taken_over=(),
            damage=replace(damage, whole=before.complete, lacked=before.reason),
        )

    def recovered(self) -> TableState:
        """Where it stands if nothing is wrong with it any more."""
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
    """The full refresh that gold's tables are of; `batch` is the one that began it (0: none was).

    `silver`: the batch that began silver's refresh which they are made from; `reached`: the same of
    the last published cut. `under_way`: no cut of it is published yet. `upto`: the LSN of the cut
    of before. `asked`: the settings that it is done with, as `rebuild.asked` gives them.
    """

    batch: int = 0
    silver: int = 0
    reached: int = 0
    under_way: bool = False
    upto: int = NO_LSN
    asked: str = ""


@dataclass(frozen=True, slots=True)
class GoldState:
    """All tables at a cut: each is applied up to `cut_lsn`, or held before it.

    `cut_held` says why the cut is not silver's last transaction. `drop_rows`: a table that the
    source drops loses its rows in gold. `xa_from`: no XA transaction that was prepared before it
    is of interest to any table (0: that was not looked at). `mark_faults`: tables go on without
    changes of which not all is known. `cascades` names what foreign keys do in the plan beside what
    is logged (`pipeline.gold.cascades.store`). `rebuild`: the full refresh that all is of.
    `signed`: all commits of the plan carry gold's mark (`pipeline.gold.table.foreign_commits`).
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
        """As a plan's body, which is JSON."""
        tables = [asdict(self.tables[name]) for name in sorted(self.tables)]
        return {**asdict(replace(self, tables={})), "tables": tables}

    def standing(self) -> dict[str, Any]:
        """What a record has of tables that are not where the plan wants them."""
        body = self.to_body()
        return {"xa_from": body["xa_from"], "tables": body["tables"]}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> GoldState:
        """What `to_body` wrote."""
        tables = {table.name: table for table in _TABLES.validate_python(body["tables"])}
        return replace(_STATE.validate_python({**body, "tables": {}}), tables=tables)

    @classmethod
    def of(cls, ledger: Ledger) -> GoldState:
        """Where gold stands after the last finished batch."""
        last = ledger.last("gold")
        return cls() if last is None else cls.after(last, ledger.record("gold") or {})

    @classmethod
    def after(cls, plan: Plan, record: Mapping[str, Any]) -> GoldState:
        """Where gold stood after a batch."""
        return cls.from_body({**plan.body, **(record.get("standing") or {})})

    def without_refusals(self) -> GoldState:
        """The state in which nothing was refused, and no error told of a damaged table."""
        tables = {
            name: replace(table if _is_final(table) else table.recovered(), refused=None)
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables)

    def with_damaged(self, damages: Mapping[TableName, Damage]) -> GoldState:
        """The state in which these tables turned out to be damaged."""
        found = {name: self.tables[name].damaged(damage) for name, damage in damages.items()}
        return replace(self, tables={**self.tables, **found}) if found else self

    def holds(self, table: TableState) -> str | None:
        """Why one of the tables goes no further: for its own sake, or because the cut does not."""
        return table.held or self.cut_held

    def held(self) -> list[str]:
        """Sentences about what goes no further, and why: those last that wait for another table."""
        held = [(str(table.name), table.held) for table in self.tables.values() if table.held]
        held.sort(key=lambda one: one[1].startswith("it waits for "))
        reasons = one_for_each_cause(held, "{} is held: {}".format)
        return [*reasons, *([f"Every table is held: {self.cut_held}"] if self.cut_held else [])]


def _is_final(table: TableState) -> bool:
    return table.damage is not None and table.damage.final


_STATE = TypeAdapter(GoldState)
_TABLES = TypeAdapter(list[TableState])
