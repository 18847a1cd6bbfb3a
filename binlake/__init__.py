"""Binlake for your own code: the command line's commands as functions, with typed results.

    import binlake

    record = binlake.run(source="shop", binlogs="/backup/binlogs", lake="/data/lake")
    orders = binlake.read("/data/lake")["shop.orders"]

`run`, `sync`, `status`, `check` and `verify` return frozen objects whose `to_json()` is what the
command prints with `--json`; `read` returns the tables of one published snapshot; `decode` needs no
lake.

Everything is loaded when it is first used: `import binlake` loads neither Spark nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binlake.commands import check, run, status, sync, verify
    from binlake.log_files import decode
    from binlake.snapshot import read
    from decoder import BinlogError, TypeOptions
    from decoder.model import Changes
    from pipeline.errors import BinlakeError, SettingsError
    from pipeline.gold.snapshot import LostSnapshotError, Snapshot
    from pipeline.lake.ledger import RunRecord
    from pipeline.run import Status
    from pipeline.settings import Settings
    from pipeline.source.check import CheckReport
    from pipeline.verify import Verification

    __version__: str

__all__ = [
    "BinlakeError",
    "BinlogError",
    "Changes",
    "CheckReport",
    "LostSnapshotError",
    "RunRecord",
    "Settings",
    "SettingsError",
    "Snapshot",
    "Status",
    "TypeOptions",
    "Verification",
    "__version__",
    "check",
    "decode",
    "read",
    "run",
    "status",
    "sync",
    "verify",
]

_MODULES = {
    "BinlakeError": "pipeline.errors",
    "BinlogError": "decoder.errors",
    "Changes": "decoder.model",
    "CheckReport": "pipeline.source.check",
    "LostSnapshotError": "pipeline.gold.snapshot",
    "RunRecord": "pipeline.lake.ledger",
    "Settings": "pipeline.settings",
    "SettingsError": "pipeline.errors",
    "Snapshot": "pipeline.gold.snapshot",
    "Status": "pipeline.run",
    "TypeOptions": "decoder",
    "Verification": "pipeline.verify",
    "check": "binlake.commands",
    "decode": "binlake.log_files",
    "read": "binlake.snapshot",
    "run": "binlake.commands",
    "status": "binlake.commands",
    "sync": "binlake.commands",
    "verify": "binlake.commands",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from pipeline.observe import binlake_version

            return binlake_version()
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
