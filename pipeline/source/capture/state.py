"""What a capture leaves in its folder: whose log it is, how far it is durable, and how it goes.

A hidden file of JSON, replaced as a whole at every checkpoint. The landed files are what counts:
without the state a capture goes on from their end, and only who it was is forgotten.
"""

from __future__ import annotations

import json
import os
import uuid
import zlib
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pipeline.source.capture.errors import DamagedStateError
from pipeline.source.capture.log_position import LogPosition
from pipeline.source.logs.server_folders import FIRST_TURN, turn_folder

STATE = ".binlake-capture.json"
_VERSION = 1
_FIRST_OWN_SERVER_ID = 1 << 31


@dataclass(frozen=True, slots=True)
class Replica:
    """Who the capture is to the server: each folder has its own, which it keeps.

    `server_id` is above 2,147,483,647 unless the settings say otherwise: people number servers from
    below, and two captures have the same in one of two thousand million cases.
    """

    uuid: str
    server_id: int

    @classmethod
    def new(cls) -> Replica:
        """One of its own."""
        name = str(uuid.uuid4())
        return cls(name, _FIRST_OWN_SERVER_ID | zlib.crc32(name.encode()) >> 1)


@dataclass(frozen=True, slots=True)
class Gap:
    """What the server had purged: everything between `behind` and the file `first`. `gtids` names
    it, where another server took over."""

    behind: str
    first: str
    noticed: str
    gtids: str = ""

    @property
    def text(self) -> str:
        """The same for people."""
        named = f": {self.gtids}" if self.gtids else ""
        return f"everything between {self.behind} and {self.first}{named} (noticed {self.noticed})"


@dataclass(frozen=True, slots=True)
class Turn:
    """A server that was captured before the one of now: up to where, and what was landed then.

    `server_uuid` is None on MariaDB. `gtids`: of all transactions that the folder had at its end,
    and of those before the first landed file. `ended`: when the next one took over.
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
    """How far the server is ahead: `seconds` since the last landed event was written, by the
    server's clock, 0 where it is the server's last, None where nothing was landed since the capture
    was started; `bytes` of its log; `transactions`, None where GTIDs do not tell."""

    seconds: float | None
    bytes: int
    transactions: int | None = None


def lag_text(lag: Lag | None) -> str:
    """How far behind the server that is, for people; None: its end is not known."""
    if lag is None:
        return "the server's end is not known"
    behind = "" if lag.transactions is None else f", {lag.transactions:,} transactions"
    seconds = "" if lag.seconds is None else f"{lag.seconds:.0f} s, "
    return f"{seconds}{lag.bytes:,} bytes{behind} behind the server"


@dataclass(frozen=True, slots=True)
class CaptureState:
    """`server_uuid` is None on MariaDB. `file` and `position`: up to where what is landed is
    durable; `server_file` and `server_position`: where the server's log ended then. Counts are
    since the folder was begun; times are in ISO 8601, UTC.

    `turn` counts the servers that took over from each other, of which `before` were others;
    `first_file` is where this turn began. `lacking`: GTIDs that are landed and that this server
    did not have when it was last connected to."""

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
        """Up to where what is landed is durable."""
        return LogPosition(self.file, self.position) if self.file else None

    @property
    def folder(self) -> str:
        """Where in the folder this turn's files are; empty for the folder itself."""
        return "" if self.turn == FIRST_TURN else turn_folder(self.turn)

    def to_json(self) -> str:
        """All of it, as an object."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> CaptureState:
        """What `to_json` gave. Raises ValueError for anything else.

        States from before servers took over from each other lack fields of that.
        """
        values = json.loads(text)
        version = values.get("version") if isinstance(values, dict) else _VERSION
        if version != _VERSION:
            raise ValueError(f"it is of version {version}")
        return _FORM.validate_python(values)


_FORM = TypeAdapter(CaptureState)


def read_state(folder: Path, name: str = STATE) -> CaptureState | None:
    """The folder's state; None where it has none. Raises DamagedStateError."""
    path = folder / name
    try:
        return CaptureState.from_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where}: {first['msg']}" if where else first["msg"]
        raise DamagedStateError(said, file=str(path)) from error
    except ValueError as error:
        raise DamagedStateError(str(error), file=str(path)) from error


def write_state(folder: Path, state: CaptureState) -> CaptureState:
    """Put it in place of the one before, durably; gives it with the time."""
    state = replace(state, updated=now())
    path, under_way = folder / STATE, folder / f"{STATE}.new"
    with under_way.open("w") as file:
        file.write(state.to_json())
        file.flush()
        os.fsync(file.fileno())
    under_way.replace(path)
    sync_folder(folder)
    return state


def sync_folder(folder: Path) -> None:
    """The names of a folder's files are on disk when this returns."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def now() -> str:
    """The time, as the state has it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
