"""MySQL and MariaDB binary logs: bytes in, Arrow out. No Spark, no files, no clock, no logging.

    for changes in decoder.read(data):      # row changes, as Arrow record batches per table
    for event in decoder.events(data):      # every event, as an object
    keys = decoder.Keys.of_keyring(bytes)   # for either, of encrypted logs: (data, keys=keys)
    except decoder.BinlogError:             # whatever is wrong with the bytes

They are loaded when first used, so that `import decoder` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder.encryption.keys import Keys
    from decoder.errors import BinlogError
    from decoder.inspect import events
    from decoder.library import read

__all__ = ["BinlogError", "Keys", "events", "read"]

_HOMES = {
    "BinlogError": "decoder.errors",
    "Keys": "decoder.encryption.keys",
    "events": "decoder.inspect",
    "read": "decoder.library",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
