"""What stops a capture, or makes it connect anew (`retryable`)."""

from __future__ import annotations

from pipeline.errors import BinlakeError
from pipeline.source.server.refusals import dump_end


class CaptureError(BinlakeError):
    """Something that stops a capture; what is landed stays as it is."""


class BrokenDumpError(CaptureError):
    """What the server sends is not its log, at `position` of `file`: the network, or the server."""

    retryable = True

    def __init__(self, reason: str, *, file: str, position: int) -> None:
        super().__init__(
            f"{file}, position {position}: {reason}",
            remedy="Nothing of it is landed; the capture connects anew. If it stays, look at the"
            " server's error log.",
        )
        self.file = file
        self.position = position


class LostConnectionError(CaptureError):
    """The connection ended, or was silent for longer than heartbeats allow."""

    retryable = True


class DumpRefusedError(CaptureError):
    """The server ended the dump with an error: its `code` and `message`."""

    def __init__(self, code: int, message: str, *, retryable: bool = False) -> None:
        _, cause, remedy = dump_end(message)
        said = f"the server ended the dump with error {code}: {message.rstrip('.')}. {cause}"
        super().__init__(said.rstrip(), remedy=remedy)
        self.code = code
        self.message = message
        self.retryable = retryable


class SameIdentityError(CaptureError):
    """Another capture, or a replica, is connected as the one that this capture is."""

    def __init__(self, *, folder: str, state: str) -> None:
        super().__init__(
            f"another capture has the identity of {folder} and has connected with it: the server"
            " sends its log to one of them only. One folder is a copy of the other, or another"
            " replica has the same server_id (capture.server_id).",
            remedy=f"If a folder was copied, stop the capture of the copy and remove {state} from"
            " it: that capture then goes on from its files, with an identity of its own. Then run"
            " this one again.",
        )
        self.folder = folder


class TooFewConnectionsError(CaptureError):
    """The user may have one connection, and a capture needs two."""

    def __init__(self, *, address: str, user: str) -> None:
        super().__init__(
            f"{user} at {address} may have one connection at a time (max_user_connections), and a"
            " capture needs two: one for the log, one to ask how far the server is.",
            remedy=f"Raise it: ALTER USER {user!r} WITH MAX_USER_CONNECTIONS 2, or more (or"
            " max_user_connections of the server, where that sets it).",
        )


class PurgedError(CaptureError):
    """The server has removed files that are not landed: all before `first` are lost to capture."""

    def __init__(self, *, file: str, position: int, first: str, folder: str) -> None:
        super().__init__(
            f"the server has purged its log: {folder} ends at {file}, position {position}, and the"
            f" first file that is still there is {first}. What is between them is lost.",
            remedy="Get the files in between from a backup and put them into the folder, or set"
            " capture.purged: continue, which goes on with the gap told in the status.",
        )
        self.file = file
        self.position = position
        self.first = first


class MissingGtidsError(CaptureError):
    """The logs of a server that takes over lack transactions that are not landed: `gtids`."""

    def __init__(self, *, gtids: str, first: str, folder: str, server: str) -> None:
        super().__init__(
            f"the logs of {server} do not have {gtids}, which is not in {folder}: they were purged,"
            f" and the first that is left is {first}, or it does not log what it replicates.",
            remedy="Capture from another replica that has them. Or set capture.purged: continue,"
            " which goes on with the gap told in the status, and bring the logs that hold them"
            " from a backup: those of the server before, beside what is landed of it. Another"
            " server's close the gap only in a new lake, once bronze has what is behind it.",
        )
        self.gtids = gtids
        self.first = first


class UnloggedReplicationError(CaptureError):
    """A server that takes over replicates, and does not log what it gets: it would be lost."""

    def __init__(self, *, folder: str, server: str) -> None:
        super().__init__(
            f"{server} is a replica that does not log what it replicates: what comes to it from now"
            f" on would never be in {folder}.",
            remedy="Capture from the server that it follows, or from a replica with"
            " log_replica_updates (MariaDB: log_slave_updates). If it is to take over, let it"
            " follow nobody first: STOP REPLICA; RESET REPLICA ALL.",
        )


class AnotherLogError(CaptureError):
    """The server's log does not continue what the folder holds."""

    def __init__(self, reason: str, *, folder: str) -> None:
        super().__init__(
            f"{folder} does not take this log: {reason}",
            remedy="Nothing in it was changed. Check the server; to capture another log (after a"
            " RESET, a restore or a change of servers), give capture.to another folder.",
        )
        self.folder = folder


class DamagedFolderError(CaptureError):
    """A landed file is not what was landed."""

    def __init__(self, reason: str, *, file: str) -> None:
        super().__init__(
            f"{file}: {reason}",
            remedy="Something else has written it. Move the file and those behind it away, and run"
            " again: they are landed anew, if the server still has them.",
        )
        self.file = file


class DamagedStateError(CaptureError):
    """The file that says how a capture stands cannot be read."""

    def __init__(self, reason: str, *, file: str) -> None:
        super().__init__(
            f"{file}: it is no state of a capture: {reason}.",
            remedy="Something else has written it. Restore it from a backup, or move it away and"
            " run again: the capture then goes on from the end of the landed files, as a new"
            " replica of the server; the counts begin anew, and gaps are not remembered.",
        )
        self.file = file


class NotLandedError(CaptureError):
    """The folder does not take what was captured: a full or a failing disk."""

    retryable = True

    def __init__(self, reason: str, *, folder: str) -> None:
        super().__init__(
            f"{folder} cannot be written: {reason}.",
            remedy="Make room or mend it, and run again: it goes on behind what is durable.",
        )
        self.folder = folder


class FolderInUseError(CaptureError):
    """Another capture writes this folder."""

    retryable = True

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"another capture is writing {folder}.",
            remedy="Run one at a time for a folder, or give this one another capture.to.",
        )
        self.folder = folder
