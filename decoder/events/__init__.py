"""Events as objects: a module per event type, with the byte layout next to every field.

`registry.parse` reads any event; types that are not in its table become an `UnknownEvent`.

The package itself is callable, as `decoder.events(data)`: the library's contract has a function and
a package of this name, and importing one must not hide the other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from decoder.events.create_file import CreateFileEvent
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.gtid import AnonymousGtidEvent, GtidEvent
from decoder.events.gtid_set import LoggedGtidSet
from decoder.events.gtid_tagged import GtidTaggedEvent
from decoder.events.header import EventHeader
from decoder.events.layout import V4
from decoder.events.load import LoadEvent
from decoder.events.mariadb_annotate_rows import MariadbAnnotateRowsEvent
from decoder.events.mariadb_gtid import MariadbGtidEvent
from decoder.events.mariadb_gtid_list import MariadbGtidListEvent
from decoder.events.previous_gtids import PreviousGtidsEvent
from decoder.events.query import QueryEvent
from decoder.events.query_compressed import QueryCompressedEvent
from decoder.events.registry import parse
from decoder.events.rotate import RotateEvent
from decoder.events.rows import RowsEvent
from decoder.events.rows_query import RowsQueryEvent
from decoder.events.start_v3 import StartV3Event
from decoder.events.table_map import TableMapEvent
from decoder.events.transaction_payload import TransactionPayloadEvent
from decoder.events.unknown import UnknownEvent

if TYPE_CHECKING:
    from decoder.encryption.keys import Keys
    from decoder.stream.event_reader import Data

__all__ = [
    "V4",
    "AnonymousGtidEvent",
    "CreateFileEvent",
    "Event",
    "EventHeader",
    "FormatDescriptionEvent",
    "GtidEvent",
    "GtidTaggedEvent",
    "LoadEvent",
    "LoggedGtidSet",
    "MariadbAnnotateRowsEvent",
    "MariadbGtidEvent",
    "MariadbGtidListEvent",
    "PreviousGtidsEvent",
    "QueryCompressedEvent",
    "QueryEvent",
    "RotateEvent",
    "RowsEvent",
    "RowsQueryEvent",
    "StartV3Event",
    "TableMapEvent",
    "TransactionPayloadEvent",
    "UnknownEvent",
    "cursor",
    "event",
    "format_description",
    "gtid",
    "gtid_set",
    "header",
    "layout",
    "log_start",
    "mariadb_compression",
    "mariadb_gtid",
    "mariadb_gtid_list",
    "parse",
    "previous_gtids",
    "query",
    "query_compressed",
    "registry",
    "rows",
    "start_v3",
    "table_map",
    "transaction_payload",
    "unknown",
    "xa_prepare",
]


class _CallablePackage(ModuleType):
    def __call__(self, data: Data, *, file: str = "", keys: Keys | None = None) -> Iterator[Event]:
        """Call `decoder.stream.event_reader.events`: all events of a file or segment in memory."""
        from decoder.encryption.keys import NO_KEYS
        from decoder.stream.event_reader import events

        return events(data, file=file, keys=keys or NO_KEYS)


sys.modules[__name__].__class__ = _CallablePackage
