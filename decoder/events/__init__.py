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

if TYPE_CHECKING:
    from decoder.encryption.keys import Keys
    from decoder.events.event import Event
    from decoder.stream.event_reader import Data

__all__ = [
    "create_file",
    "cursor",
    "event",
    "format_description",
    "gtid",
    "gtid_set",
    "gtid_tagged",
    "header",
    "layout",
    "load",
    "log_start",
    "mariadb_annotate_rows",
    "mariadb_compression",
    "mariadb_gtid",
    "mariadb_gtid_list",
    "previous_gtids",
    "query",
    "query_compressed",
    "registry",
    "rotate",
    "rows",
    "rows_query",
    "start_v3",
    "table_definition",
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
