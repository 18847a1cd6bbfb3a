"""Decode MySQL and MariaDB binary logs into Arrow: no Spark, file access, clock or logging.

    for changes in decoder.read(data):      # row changes of one table, an Arrow record batch
    for event in decoder.events(data):      # every event, as an object
    keys = decoder.Keys.from_keyring(bytes)   # encrypted logs: pass keys=keys to either function
    except decoder.BinlogError:             # raised for any malformed byte

Names are imported on first use, so `import decoder` is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from decoder.encryption.keys import Keys
    from decoder.errors import BinlogError
    from decoder.model import schemas
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
    "schemas",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "decoder.encryption.keys": "Keys",
            "decoder.errors": "BinlogError",
            "decoder.model.definition": "TableDefinition",
            "decoder.model.options": "TypeOptions",
            "decoder.model": "schemas",
            "decoder.model.segment": "Segment",
            "decoder.segments.log_windows": "Framer",
            "decoder.segments.segment_bounds": "Segmenter",
            "decoder.stream.event_reader": "events",
            "decoder.stream.segment_decoder": "SegmentDecoder read",
        },
    )
