"""Decode MySQL and MariaDB binary logs into Arrow: no Spark, file access, clock or logging.

    for changes in decoder.read(data):      # row changes of one table, an Arrow record batch
    for event in decoder.events(data):      # every event, as an object
    keys = decoder.Keys.from_keyring(bytes)   # encrypted logs: pass keys=keys to either function
    except decoder.BinlogError:             # raised for any malformed byte

Names are imported on first use, so `import decoder` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder.encryption.keys import Keys
    from decoder.errors import BinlogError
    from decoder.model.definition import TableDefinition
    from decoder.model.options import TypeOptions
    from decoder.model.segment import Segment
    from decoder.segments.log_windows import Framer
    from decoder.segments.segment_bounds import Segmenter
    from decoder.stream.event_reader import events
    from decoder.stream.segment_decoder import SegmentDecoder, read

__all__ = [
    "BinlogError",
    "Framer",
    "Keys",
    "Segment",
    "SegmentDecoder",
    "Segmenter",
    "TableDefinition",
    "TypeOptions",
    "events",
    "read",
]

_MODULES = {
    "BinlogError": "decoder.errors",
    "Framer": "decoder.segments.log_windows",
    "Keys": "decoder.encryption.keys",
    "Segment": "decoder.model.segment",
    "SegmentDecoder": "decoder.stream.segment_decoder",
    "Segmenter": "decoder.segments.segment_bounds",
    "TableDefinition": "decoder.model.definition",
    "TypeOptions": "decoder.model.options",
    "events": "decoder.stream.event_reader",
    "read": "decoder.stream.segment_decoder",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
