"""BEGIN_LOAD_QUERY: the first piece of the file that LOAD DATA reads.

Format: MySQL `load_data_events.cpp`, `Begin_load_query_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.append_block import AppendBlockEvent


@dataclass(frozen=True, slots=True)
class BeginLoadQueryEvent(AppendBlockEvent):
    """The first piece of the file, in the layout of APPEND_BLOCK."""
