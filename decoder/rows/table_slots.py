"""The TABLE_MAPs of a segment: a slot for each distinct one, and the slot of each table id.

Kernels look them up (`decoder.rows.grouping`); maps with new bytes are registered here, once, and
again after each schema change, which may change column names that are not in their bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from decoder.errors import BinlogError
from decoder.framing.frames import table_id_size
from decoder.kernels.memory import Bytes, load_u32, load_u48
from decoder.model.definition import TableDefinition
from decoder.rows.grouping import Maps, hash_cell
from decoder.transactions import records as t

_READ_AHEAD = 16


@dataclass(frozen=True, slots=True)
class Slot:
    """A distinct TABLE_MAP: its table, or why it cannot be used; and whether it is wanted."""

    definition: TableDefinition | None
    error: BinlogError | None
    wanted: bool


class TableMaps:
    """The distinct maps and table ids of a segment."""

    def __init__(self, wanted: Callable[[str, str], bool] | None) -> None:
        self._wanted = wanted
        self._ids: npt.NDArray[np.int64] = np.full(256, -1, np.int64)
        self._slot_of: npt.NDArray[np.int64] = np.zeros(256, np.int64)
        self._owner_of: npt.NDArray[np.int64] = np.full(256, -1, np.int64)
        self._used = 0
        self.table: npt.NDArray[np.int64] = np.zeros((16, t.SLOT_FIELDS), np.int64)
        self._known: npt.NDArray[np.uint8] = np.zeros(1 << 14, np.uint8)
        self._known_length = 0
        self.slots: list[Slot] = []
        self.names: dict[str, int] = {}
        self._schema_changes = 0
        self._slot_by_bytes: dict[tuple[bytes, TableDefinition | None], int] = {}

    @property
    def arrays(self) -> Maps:
        """Arguments of the kernels."""
        return self._ids, self._slot_of, self.table, self._owner_of, self._known

    def register(
        self, table_id: int, content: bytes, owner: int, read: TableDefinition | BinlogError
    ) -> Slot:
        """Register a TABLE_MAP for transaction `owner`; return its slot.

        `content`: its bytes after the id; `read`: the definition in them, or why there is none.
        """
        error = read if isinstance(read, BinlogError) else None
        definition = None if isinstance(read, BinlogError) else read
        index = self._slot_by_bytes.get((content, definition))
        if index is None:
            index = self._new_slot(content, definition, error)
        self._assign(table_id, index, owner)
        return self.slots[index]

    def invalidate_after(self, schema_changes: int) -> None:
        """Forget all table ids if the number of schema changes differs from the last call's.

        Every TABLE_MAP is then registered again.
        """
        if schema_changes != self._schema_changes:
            self._schema_changes = schema_changes
            self._ids[:] = -1
            self._used = 0

    def keep_bytes(self, content: bytes) -> int:
        """Store bytes for comparison by kernels; return their offset."""
        start = self._known_length
        needed = start + len(content) + _READ_AHEAD
        if needed > len(self._known):
            grown = np.zeros(2 * needed, np.uint8)
            grown[:start] = self._known[:start]
            self._known = grown
        self._known[start : start + len(content)] = np.frombuffer(content, np.uint8)
        self._known_length = start + len(content)
        return start

    def forget_groups(self) -> None:
        """Remove the groups of all slots."""
        self.table[:, t.SLOT_GROUP :] = -1

    def renumber(self, open_transaction: int) -> None:
        """Renumber the owner of the open transaction's maps to 0; invalidate all others."""
        keep = (self._owner_of == open_transaction) & (open_transaction >= 0)
        self._owner_of[:] = np.where(keep, 0, -1)

    def _new_slot(
        self, content: bytes, definition: TableDefinition | None, error: BinlogError | None
    ) -> int:
        slot = Slot(definition, error, definition is None or self._is_wanted(definition))
        index = len(self.slots)
        if index == len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        use = t.UNUSABLE if slot.error else t.DECODE if slot.wanted else t.COUNT
        columns = len(slot.definition.logged) if slot.definition else 0
        self.table[index, t.SLOT_BYTES] = self.keep_bytes(content)
        self.table[index, t.SLOT_LENGTH] = len(content)
        self.table[index, t.SLOT_COLUMNS] = columns
        self.table[index, t.SLOT_USE] = use
        self.table[index, t.SLOT_TABLE] = self._name(slot)
        self.table[index, t.SLOT_GROUP :] = -1
        self.slots.append(slot)
        self._slot_by_bytes[content, definition] = index
        return index

    def _is_wanted(self, definition: TableDefinition) -> bool:
        return self._wanted is None or self._wanted(definition.schema, definition.table)

    def _name(self, slot: Slot) -> int:
        """Return the index of the slot's table in `names`; −1 if the name could not be read."""
        if slot.definition is None:
            return -1
        return self.names.setdefault(str(slot.definition), len(self.names))

    def _assign(self, table_id: int, slot: int, owner: int) -> None:
        if 2 * self._used >= len(self._ids):
            self._rehash()
        cell = hash_cell(self._ids, table_id)
        self._used += int(self._ids[cell] < 0)
        self._ids[cell] = table_id
        self._slot_of[cell] = slot
        self._owner_of[cell] = owner

    def _rehash(self) -> None:
        old = [array[self._ids >= 0] for array in (self._ids, self._slot_of, self._owner_of)]
        size = 4 * len(self._ids)
        self._ids = np.full(size, -1, np.int64)
        self._slot_of = np.zeros(size, np.int64)
        self._owner_of = np.full(size, -1, np.int64)
        self._used = 0
        for table_id, slot, owner in zip(*old, strict=True):
            self._assign(int(table_id), int(slot), int(owner))


def id_and_content(
    buffer: Bytes, body: int, end: int, post_header: int
) -> tuple[int, bytes] | None:
    """Return the table id of the TABLE_MAP in `buffer[body:end]` and the bytes after it.

    None if it is too short.
    """
    size = table_id_size(post_header)
    if body + size > end:
        return None
    table_id = load_u32(buffer, body) if size == 4 else load_u48(buffer, body)
    return table_id, bytes(buffer[body + size : end])
