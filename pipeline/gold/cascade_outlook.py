"""What is asked about foreign keys when a batch is planned, and what the answer is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.catalog.effects import TableName
from pipeline.gold.blocks import Fault
from pipeline.gold.cascade_links import Items
from pipeline.gold.cascade_store import Changes
from pipeline.gold.facts import Facts
from pipeline.gold.state import TableState


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a batch is planned from: the states that it would bring, and what was looked up.

    `before`: the cut that gold is at. `versions`: Delta's version of each gold table there.
    """

    states: Mapping[TableName, TableState]
    before: int
    cut_lsn: int
    items: Items
    facts: Facts
    faults: Sequence[Fault]
    versions: Mapping[TableName, int]
    files: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What foreign keys do in a batch that ends at `cut_lsn`, maybe before the one asked for.

    `faults` hold children of which that cannot be told; `changes` are those of the others.
    """

    cut_lsn: int
    faults: tuple[Fault, ...] = ()
    changes: Changes = field(default_factory=dict)
