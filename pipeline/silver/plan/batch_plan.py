"""The complete definition of one batch of silver: the body of its plan in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, PlainSerializer, PlainValidator, TypeAdapter, ValidationInfo

from decoder import TableDefinition
from pipeline.bronze.executed_gtids import ExecutedGtids
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import UNOWNED_KINDS, TimelineItem
from pipeline.silver.decode.segment_refs import FilePosition
from pipeline.silver.decode.table_names import TableNames

FROM_START: FilePosition = (0, 0)


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A definition in the batch's table maps, and the silver table that its rows are written to.

    Definitions that differ only in properties that silver does not store (nullability, visibility)
    share a `version` and thus a `table_id`, the plan's number for the silver table.
    """

    version: int
    table_id: int
    definition: Annotated[
        TableDefinition,
        PlainValidator(TableDefinition.from_json),
        PlainSerializer(TableDefinition.to_json),
    ]


@dataclass(frozen=True, slots=True)
class Retried:
    """A segment with faults, and its transactions in quarantine."""

    ordinal: int
    start_pos: int
    lsns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refresh:
    """The full refresh that silver's rows belong to; `batch` started it (0: there was none).

    `settings_digest`: that of its settings (see `full_refresh`). `under_way`: it is not finished.
    `maintained`: what maintenance removed up to this batch of its own exists again. `upto`:
    silver's position before it, and before other refreshes that it replaced.
    """

    batch: int = 0
    settings_digest: str = ""
    under_way: bool = False
    maintained: int = 0
    upto: FilePosition = FROM_START

    def after(self, end: FilePosition, *, more: bool) -> Refresh:
        """Return it after a batch that ends there; `more`: bronze has more to decode.

        It is not finished before silver's previous position: if a gap has appeared meanwhile, it
        waits, because gold's published snapshot must not fall behind the previous one.
        """
        return replace(self, under_way=self.under_way and (more or end < self.upto))


@dataclass(frozen=True, slots=True)
class RefreshStart:
    """The part of a plan that starts a full refresh, which empties silver.

    `tables`: the existing tables of changes as (schema, table, version). `conf`: the decoding
    settings from then on. Other fields are as in `Refresh`.
    """

    settings_digest: str
    maintained: int
    tables: tuple[tuple[str, str, int], ...] = ()
    conf: Mapping[str, Any] = field(default_factory=dict)
    upto: FilePosition = FROM_START


REFRESH_START = TypeAdapter(RefreshStart)
"""Parser of `begins` in the body of a plan."""


def _names(entries: Mapping[str, Any], others: ValidationInfo) -> TableNames:
    """Read the names of tables in a plan's body, whose definitions its `tables` have."""
    planned: tuple[PlannedTable, ...] = others.data["tables"]
    definitions = {table.definition.fingerprint(): table.definition for table in planned}
    return TableNames.from_dict(entries, definitions)


_Names = Annotated[TableNames, PlainValidator(_names), PlainSerializer(TableNames.to_dict)]
_Item = Annotated[
    TimelineItem, PlainValidator(TimelineItem.from_dict), PlainSerializer(TimelineItem.to_dict)
]
_BySegment = Annotated[
    Mapping[FilePosition, str],
    PlainValidator(lambda rows: {(ordinal, start): gtids for ordinal, start, gtids in rows}),
    PlainSerializer(lambda known: [[*place, gtids] for place, gtids in known.items()]),
]


@dataclass(frozen=True, slots=True)
class SilverPlan:
    """One batch: segments in [start, end), their tables, and new items of the timeline.

    `last_lsn` is silver's last transaction after the batch. `from_start`: the lake has the log
    from its first file on. `names` identifies tables whose names the log lacks. `faults` are rows
    of `quarantine` from the timeline (statements that are not applied). `retried` are segments to
    decode again; the range is then empty. `again` are tables that have names now, of which every
    change in these segments is decoded, except those of the transactions in `passed`, which the
    lake already had. `conf` has the decoding settings, so that the plan is the same for every run
    that finishes it. `seen` has, by segment, the GTIDs that the lake already had; `executed` are
    the transactions in the lake after the batch. `refresh` is the full refresh that it belongs to.
    `begins`: it starts a refresh, and stays at the previous batch's position until silver is
    emptied.
    """

    # The parser is made when it is first used, which takes a hundredth of a second.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(defer_build=True)

    start: FilePosition
    end: FilePosition
    last_lsn: int
    from_start: bool = False
    tables: tuple[PlannedTable, ...] = ()
    names: _Names = field(default_factory=TableNames)
    items: tuple[_Item, ...] = ()
    faults: tuple[Mapping[str, Any], ...] = ()
    retried: tuple[Retried, ...] = ()
    again: tuple[str, ...] = ()
    passed: tuple[int, ...] = ()
    conf: Mapping[str, Any] = field(default_factory=dict)
    seen: _BySegment = field(default_factory=dict)
    executed: ExecutedGtids = field(default_factory=ExecutedGtids)
    refresh: Refresh = field(default_factory=Refresh)
    begins: RefreshStart | None = None

    def to_body(self) -> dict[str, Any]:
        """Return JSON data."""
        body: dict[str, Any] = _FORM.dump_python(self, mode="json")
        return body

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> SilverPlan:
        """Return the plan that `to_body` returned."""
        return _FORM.validate_python(body)

    def at_its_end(self) -> SilverPlan:
        """Return a plan without segments at the position where this one ends."""
        return SilverPlan(
            start=self.end,
            end=self.end,
            last_lsn=self.last_lsn,
            from_start=self.from_start,
            conf=self.conf,
            executed=self.executed,
            refresh=self.refresh,
        )

    @property
    def table_names(self) -> set[TableName]:
        """The tables that the batch writes rows or items of."""
        shown = {TableName(t.definition.schema, t.definition.table) for t in self.tables}
        return shown | {item.name for item in self.items if item.kind not in UNOWNED_KINDS}

    @property
    def seeded(self) -> dict[str, int]:
        """The LSNs of the rows of its seeds, by `schema.table`."""
        return {str(item.name): item.seed.lsn for item in self.items if item.seed}

    @property
    def table_ids(self) -> dict[str, int]:
        """Fingerprint of a definition → table id."""
        return {table.definition.fingerprint(): table.table_id for table in self.tables}


_FORM = TypeAdapter(SilverPlan)


def planned_tables(
    definitions: Iterable[tuple[TableDefinition, int]],
) -> tuple[PlannedTable, ...]:
    """Number (definition, version) pairs: one number per silver table."""
    distinct = {
        definition.fingerprint(): (definition, version) for definition, version in definitions
    }
    ids: dict[tuple[str, str, int], int] = {}
    tables = []
    for definition, version in distinct.values():
        key = definition.schema, definition.table, version
        tables.append(PlannedTable(version, ids.setdefault(key, len(ids)), definition))
    return tuple(tables)


def by_table_id(tables: Sequence[PlannedTable]) -> dict[int, PlannedTable]:
    """Return one definition per silver table: all that share one have the same columns."""
    return {table.table_id: table for table in tables}
