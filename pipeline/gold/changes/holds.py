"""Holds: transactions that a table cannot pass, because of faults or unsupported definitions.

A hold is always a whole transaction, since gold only ever stops between transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from decoder import TableDefinition
from decoder.columns import row_type
from decoder.errors import UnsupportedError
from pipeline.gold.changes.key_checks import key_refusal
from pipeline.gold.table.gold_table import gold_schema
from pipeline.gold.table.names import OWN_COLUMNS
from pipeline.gold.table.options import TableOptions
from pipeline.gold.table.state import NO_LSN, TableState
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.timeline.tables import NO_NAMES
from pipeline.settings import Settings
from pipeline.settings.settings import key_given
from pipeline.silver.decode.decode import OFFSET_BITS

REFRESH_AGAIN = (
    "the settings excluded it from the last full refresh, so gold's rows are from before that:"
    " binlake run --full-refresh rebuilds it."
)


_ENDS = ("drop", "moved")
_NEUTRAL = ("keys", "model", "rows_not_logged")
"""Items that do not change a table, and may precede its first rows."""


@dataclass(frozen=True, slots=True, order=True)
class Hold:
    """A transaction that is not applied to a table, for `reason`; `marked`: gold may skip it.

    Only faults can be skipped: without a definition nothing can be applied.
    """

    lsn: int
    reason: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class OpenFault:
    """An open row of the quarantine; `tables` is None if they are not known.

    `marks_only`: an accepted gap, which holds no table but makes it incomplete, whatever the
    settings are. `cause`: the table in which the fault is, if known: the other tables wait for that
    one.
    """

    lsn: int
    sentence: str
    tables: tuple[TableName, ...] | None
    marks_only: bool = False
    cause: TableName | None = None

    def reason(self, name: TableName) -> str:
        """Return why the fault holds that table."""
        if self.cause is None or str(name) == str(self.cause):
            return self.sentence
        return f"it waits for {self.cause}: {self.sentence}"

    def marks(self, settings: Settings) -> bool:
        """Return True if gold skips the fault's changes and reports the table as not complete."""
        return settings.on_fault == "mark" or self.marks_only

    def names(self, table: TableName) -> bool:
        """Return True if it names the table, or one spelled the same (names may contain dots)."""
        return str(table) in map(str, self.tables or ())


def refusal(definition: TableDefinition, settings: Settings) -> str | None:
    """Return why a table with this definition cannot be in gold, or None."""
    if not definition.named:
        return NO_NAMES
    columns = [column.name for column in definition.columns]
    key = key_given(settings.keys, str(definition)) or definition.key
    if missing := [name for name in key if name not in columns]:
        names = ", ".join(missing)
        return f"its key in the settings names {names}, which the table does not have"
    if taken := [name for name in columns if name.lower() in OWN_COLUMNS]:
        return f"its column {taken[0]} has the name of a column that Binlake adds"
    types = settings.type_options
    try:
        row_type(definition, types)
    except UnsupportedError as error:
        return str(error)
    return key_refusal(definition, key, types)


def item_holds(
    items: Iterable[TimelineItem], settings: Settings, files: Mapping[int, str]
) -> list[Hold]:
    """Return the holds from one table's definitions; `files`: names by ordinal."""
    holds = []
    for item in items:
        if item.kind == "unsupported":
            reason = f"{item.reason}{_statement(item)}"
        elif item.kind != "drop" and item.definition is not None:
            reason = refusal(item.definition, settings) or ""
        else:
            reason = ""
        if reason:
            holds.append(Hold(item.lsn, f"{place_in_log(item.lsn, files, item.pos)}: {reason}"))
    return holds


def options_holds(
    before: TableState, items: Iterable[TimelineItem], settings: Settings
) -> list[Hold]:
    """Return the hold of a table whose columns do not fit the settings under `gold`.

    Only if they still do not in its last definition: settings are written for the columns that a
    table has now, while its history may begin without them.
    """
    options = TableOptions.of(settings.gold, str(before.name))
    if not (options.cluster_by or options.change_data_feed):
        return []
    found: list[Hold] = []
    for item in items:
        if item.kind in _ENDS:
            found = []
        elif item.definition is not None and refusal(item.definition, settings) is None:
            reason = options.misfit(gold_schema(item.definition, settings.type_options))
            found = [*found, Hold(item.lsn, reason)] if reason else []
    return [replace(hold, lsn=max(hold.lsn, before.to_lsn + 1)) for hold in found[:1]]


def place_holds(items: Iterable[TimelineItem], taken: str | None) -> list[Hold]:
    """Return the holds of a table whose place in gold is occupied, for the reason `taken`."""
    if taken is None:
        return []
    return [Hold(item.lsn, taken) for item in items if item.definition is not None]


def left_out_holds(before: TableState, items: Sequence[TimelineItem]) -> list[Hold]:
    """Return the hold of a table excluded from a full refresh and now included again.

    Silver has nothing about it up to gold's position: its first rows would recreate the table.
    `items` are all items of the table.
    """
    doing = (item for item in items if item.kind not in _NEUTRAL)
    first = min(doing, key=lambda item: item.position, default=None)
    if first is None or first.kind != "observed" or before.version is None:
        return []
    return [Hold(first.lsn, REFRESH_AGAIN)] if NO_LSN < before.to_lsn < first.lsn else []


def seed_holds(items: Iterable[TimelineItem], holds: Sequence[Hold]) -> list[Hold]:
    """Return the holds of a table at seeds that lack rows: `holds` has one between the seed's
    position in the log and its item.

    Of several seeds at the same position only the last counts.
    """
    found = []
    for item in {item.lsn: item for item in items if item.seed}.values():
        seed = item.seed
        among = (
            hold for hold in holds if seed and seed.lsn < hold.lsn <= item.lsn and not hold.marked
        )
        if (first := min(among, default=None)) is not None:
            found.append(Hold(item.lsn, first.reason))
    return found


def fault_holds(faults: Iterable[OpenFault], name: TableName, settings: Settings) -> list[Hold]:
    """Return the holds from faults for one table.

    A fault that concerns all tables ends the batch before it instead. If two tables are spelled the
    same, both are held.
    """
    return [
        Hold(fault.lsn, fault.reason(name), marked=fault.marks(settings))
        for fault in faults
        if fault.names(name) or (fault.tables is None and fault.marks(settings))
    ]


def refusal_holds(before: TableState, settings: Settings, files: Mapping[int, str]) -> list[Hold]:
    """Return the hold of a table whose changes were refused, unless its key was changed since."""
    refused = before.refused
    if refused is None or before.key != key_given(settings.keys, str(before.name)):
        return []
    marked = refused.passable and settings.on_fault == "mark"
    return [
        Hold(refused.lsn, f"{place_in_log(refused.lsn, files)}: {refused.reason}", marked=marked)
    ]


def place_in_log(lsn: int, files: Mapping[int, str], pos: int | None = None) -> str:
    """Return the file and position of an event at `pos`, or of a transaction's first one."""
    ordinal = lsn >> OFFSET_BITS
    pos = lsn % (1 << OFFSET_BITS) if pos is None else pos
    return f"{files.get(ordinal, f'file number {ordinal}')}, position {pos}"


def _statement(item: TimelineItem, length: int = 120) -> str:
    if not item.statement:
        return ""
    text = " ".join(item.statement.split())
    return f" ({text if len(text) <= length else text[:length] + '…'})"
