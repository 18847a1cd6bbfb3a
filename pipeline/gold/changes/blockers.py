"""What a table cannot be applied past: faults in its changes, and definitions that gold lacks.

A block stands at a transaction, since gold is only ever at the end of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from decoder import TableDefinition, TypeOptions
from decoder.columns.registry import row_type
from decoder.errors import UnsupportedError
from pipeline.catalog import TableName
from pipeline.catalog.alter.items import TimelineItem
from pipeline.catalog.timeline.tables import NO_NAMES
from pipeline.gold.changes.keys import key_refusal
from pipeline.gold.table.names import OWN_COLUMNS
from pipeline.gold.table.state import NO_LSN, TableState
from pipeline.settings.settings import key_given
from pipeline.silver.decode.decode import OFFSET_BITS

REFRESH_AGAIN = (
    "conf left it out of the last full refresh, so that the rows which gold has are of before that:"
    " binlake run --full-refresh builds it anew."
)


_TELLING = ("keys", "model", "rows_not_logged")
"""Items that do nothing to a table, and may come before its first rows."""


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """A transaction that is not applied to a table, and why; `marked`: gold may go on without it.

    Only a fault can be gone past: without a definition there is nothing to go on with.
    """

    lsn: int
    reason: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """An open row of the quarantine; `tables` is None where they are not known.

    `given_up`: conf accepts it, so it holds nothing, whatever the rules say. `cause` is the table
    that it is in, where that is known: the others wait for that one.
    """

    lsn: int
    sentence: str
    tables: tuple[TableName, ...] | None
    given_up: bool = False
    cause: TableName | None = None

    def reason(self, name: TableName) -> str:
        """Why it holds that table."""
        if self.cause is None or str(name) == str(self.cause):
            return self.sentence
        return f"it waits for {self.cause}: {self.sentence}"

    def names(self, table: TableName) -> bool:
        """Whether it names the table, or one that cannot be told from it (names may hold dots)."""
        return str(table) in map(str, self.tables or ())


@dataclass(frozen=True, slots=True)
class Rules:
    """What conf says about tables; `keys` by pattern over `schema.table`."""

    keys: Mapping[str, Sequence[str]]
    types: TypeOptions
    mark_faults: bool = False
    drop_rows: bool = False

    def marks(self, fault: Fault) -> bool:
        """Whether gold goes on without what a fault stands for, and says so."""
        return self.mark_faults or fault.given_up

    def given(self, name: str) -> tuple[str, ...]:
        """The key that conf gives to `schema.table`; empty where the table's own counts."""
        return key_given(self.keys, name)

    def key(self, definition: TableDefinition) -> tuple[str, ...]:
        """The names of the columns that tell a table's rows apart; empty where there is none."""
        return self.given(str(definition)) or definition.key

    def refusal(self, definition: TableDefinition) -> str | None:
        """Why a table of this definition cannot be in gold."""
        if not definition.named:
            return NO_NAMES
        columns = [column.name for column in definition.columns]
        key = self.key(definition)
        if missing := [name for name in key if name not in columns]:
            return f"its key in conf names {', '.join(missing)}, which it does not have"
        if taken := [name for name in columns if name.lower() in OWN_COLUMNS]:
            return f"its column {taken[0]} has the name of one that Binlake adds"
        try:
            row_type(definition, self.types)
        except UnsupportedError as error:
            return str(error)
        return key_refusal(definition, key, self.types)


def item_blocks(
    items: Iterable[TimelineItem], rules: Rules, files: Mapping[int, str]
) -> list[Block]:
    """The blocks that one table's definitions are; `files`: names by ordinal."""
    blocks = []
    for item in items:
        if item.kind == "unsupported":
            reason = f"{item.reason}{_statement(item)}"
        elif item.kind != "drop" and item.definition is not None:
            reason = rules.refusal(item.definition) or ""
        else:
            reason = ""
        if reason:
            blocks.append(Block(item.lsn, f"{_place(item.lsn, item.pos, files)}: {reason}"))
    return blocks


def place_blocks(items: Iterable[TimelineItem], taken: str | None) -> list[Block]:
    """The blocks of one table whose place in gold is taken, for the reason given."""
    if taken is None:
        return []
    return [Block(item.lsn, taken) for item in items if item.definition is not None]


def left_out_blocks(before: TableState, items: Sequence[TimelineItem]) -> list[Block]:
    """The block of a table that a full refresh has left out, and that conf has again now.

    Nothing tells of it up to where gold has it: what its first rows show would begin it anew.
    `items` are all of its own.
    """
    doing = (item for item in items if item.kind not in _TELLING)
    first = min(doing, key=lambda item: item.position, default=None)
    if first is None or first.kind != "observed" or before.version is None:
        return []
    return [Block(first.lsn, REFRESH_AGAIN)] if NO_LSN < before.to_lsn < first.lsn else []


def seed_blocks(items: Iterable[TimelineItem], blocks: Sequence[Block]) -> list[Block]:
    """The blocks of one table at seeds that do not have all of its rows: something of before their
    item is not known, which came behind their place in the log. `blocks` are all others.

    Of several that stand at one place only the last counts.
    """
    found = []
    for item in {item.lsn: item for item in items if item.seed}.values():
        seed = item.seed
        among = (b for b in blocks if seed and seed.lsn < b.lsn <= item.lsn and not b.marked)
        if (first := min(among, default=None)) is not None:
            found.append(Block(item.lsn, first.reason))
    return found


def fault_blocks(faults: Iterable[Fault], name: TableName, rules: Rules) -> list[Block]:
    """The blocks that faults are for one table; one that holds every table holds the cut instead.

    Of tables that cannot be told apart by its names, both are held rather than neither.
    """
    return [
        Block(fault.lsn, fault.reason(name), marked=rules.marks(fault))
        for fault in faults
        if fault.names(name) or (fault.tables is None and rules.marks(fault))
    ]


def refusal_blocks(before: TableState, rules: Rules, files: Mapping[int, str]) -> list[Block]:
    """The block that a table has where it was tried to apply it; another key in conf may help."""
    refused = before.refused
    if refused is None or before.key != rules.given(str(before.name)):
        return []
    place = _place(refused.lsn, refused.lsn % (1 << OFFSET_BITS), files)
    marked = refused.passable and rules.mark_faults
    return [Block(refused.lsn, f"{place}: {refused.reason}", marked=marked)]


def _place(lsn: int, pos: int, files: Mapping[int, str]) -> str:
    ordinal = lsn >> OFFSET_BITS
    return f"{files.get(ordinal, f'file number {ordinal}')}, position {pos}"


def _statement(item: TimelineItem, length: int = 120) -> str:
    if not item.statement:
        return ""
    text = " ".join(item.statement.split())
    return f" ({text if len(text) <= length else text[:length] + '…'})"
