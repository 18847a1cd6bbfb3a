"""A capture's state file: whose log is landed, up to where it is durable, counters and gaps.

A hidden JSON file, replaced atomically at every checkpoint. The landed files are authoritative:
without the state, a capture resumes from their end and only its identity is lost.
"""

from __future__ import annotations

import json
import os
import uuid
import zlib
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import ClassVar

from pydantic import TypeAdapter, ValidationError

from pipeline.source.capture.errors import DamagedStateError
from pipeline.source.logs.server_folders import FIRST_TURN, turn_folder
from pipeline.source.server.log_position import LogPosition

STATE = ".binlake-capture.json"
_VERSION = 1
_FIRST_OWN_SERVER_ID = 1 << 31


@dataclass(frozen=True, slots=True)
class Replica:
    """The capture's identity as a replica: one per folder, and permanent.

    `server_id` is above 2,147,483,647 unless set in the settings: servers are usually
    numbered from 1, and two captures collide with a probability of 1 in 2,000 million.
    """

    uuid: str
    server_id: int

    @classmethod
    def new(cls) -> Replica:
        """Return a new identity."""
        name = str(uuid.uuid4())
        return cls(name, _FIRST_OWN_SERVER_ID | zlib.crc32(name.encode()) >> 1)


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap in the landed log: everything between the position `after` and the file `first`.

    `gtids` names the missing transactions if the gap is at a failover.
    """

    REMEDY: ClassVar[str] = (
        "These changes are missing from the folder; decoding waits at the gap. Restore the files"
        " from a backup before bronze ingests what follows, or accept the gap (given_up) and seed"
        " the tables."
    )

    after: str
    first: str
    noticed: str
    gtids: str = ""

    @property
    def text(self) -> str:
        """The gap as text."""
        named = f": {self.gtids}" if self.gtids else ""
        return f"everything between {self.after} and {self.first}{named} (noticed {self.noticed})"


@dataclass(frozen=True, slots=True)
class Turn:
    """A server that was captured before the current one, and the position where that ended.

    `server_uuid` is None on MariaDB. `gtids`: those of all transactions landed by then, and of
    those before the first landed file. `ended`: time of the failover.
    """

    turn: int
    server_uuid: str | None
    server_id: int
    server_version: str
    first_file: str
    file: str
    position: int
    gtids: str
    ended: str


@dataclass(frozen=True, slots=True)
class Lag:
    """Lag of the landed log relative to the server's log.

    `seconds`: age of the last landed event by the server's clock; 0 if it is the server's last,
    None if nothing was landed since the capture was started. `transactions` is None without GTIDs.
    """

    seconds: float | None
    bytes: int
    transactions: int | None = None


def lag_text(lag: Lag | None) -> str:
    """Return the lag as text; None: the server's log end is unknown."""
    if lag is None:
        return "the server's log end is unknown"
    transactions = "" if lag.transactions is None else f", {lag.transactions:,} transactions"
    seconds = "" if lag.seconds is None else f"{lag.seconds:.0f} s, "
    return f"{seconds}{lag.bytes:,} bytes{transactions} behind the server"


@dataclass(frozen=True, slots=True)
class CaptureState:
    """State of a capture; times are in ISO 8601, UTC, and counters start with the folder.

    `server_uuid` is None on MariaDB. `file` and `position`: end of the durable log; `server_file`
    and `server_position`: end of the server's log at that time.

    `turn` numbers the successive servers, `before` are the previous ones; `first_file` is the
    first file of this turn. `lacking`: landed GTIDs that this server did not have when last
    connected to.
    """

    replica: Replica
    server_uuid: str | None = None
    server_id: int = 0
    server_version: str = ""
    first_file: str = ""
    file: str = ""
    position: int = 0
    gtid: str | None = None
    server_file: str = ""
    server_position: int = 0
    lag: Lag | None = None
    bytes: int = 0
    events: int = 0
    transactions: int = 0
    reconnects: int = 0
    gaps: tuple[Gap, ...] = ()
    turn: int = FIRST_TURN
    before: tuple[Turn, ...] = ()
    lacking: str = ""
    last_error: str | None = None
    started: str = ""
    updated: str = ""
    version: int = field(default=_VERSION)

    @property
    def durable(self) -> LogPosition | None:
        """End of the durable log; None if nothing is durable yet."""
        return LogPosition(self.file, self.position) if self.file else None

    @property
    def folder(self) -> str:
        """Subfolder with this turn's files; empty for the folder itself."""
        return "" if self.turn == FIRST_TURN else turn_folder(self.turn)

    def to_json(self) -> str:
        """Return the state as a JSON object."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> CaptureState:
        """Parse the form of `to_json`. Raises ValueError if it is malformed."""
        values = json.loads(text)
        version = values.get("version") if isinstance(values, dict) else _VERSION
        if version != _VERSION:
            raise ValueError(f"its version is {version}, and this release reads only {_VERSION}")
        state = _FORM.validate_python(values)
        if lacking := asdict(state).keys() - values.keys():
            raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
        return state


_FORM = TypeAdapter(CaptureState)


def read_state(folder: Path, name: str = STATE) -> CaptureState | None:
    """Return the folder's state; None if it has none. Raises DamagedStateError."""
    path = folder / name
    try:
        return CaptureState.from_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise DamagedStateError(reason, file=str(path)) from error
    except ValueError as error:
        raise DamagedStateError(str(error), file=str(path)) from error


def write_state(folder: Path, state: CaptureState) -> CaptureState:
    """Replace the state file, durably, and return the state with its time of writing."""
    state = replace(state, updated=now())
    write_durably(folder / STATE, state.to_json())
    return state


def write_durably(path: Path, text: str) -> None:
    """Replace a file atomically and durably."""
    temporary = path.with_name(f"{path.name}.new")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def now() -> str:
    """Return the current time in the state's format."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
