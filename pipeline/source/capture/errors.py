"""Errors that stop a capture or, if `retryable`, make it reconnect."""

from __future__ import annotations

from pipeline.errors import BinlakeError
from pipeline.source.server.refusals import dump_end


class CaptureError(BinlakeError):
    """A capture cannot continue; landed files are unchanged."""


class BrokenDumpError(CaptureError):
    """The dump is not a valid log at `position` of `file`: damaged in transit or on the server."""

    retryable = True

    def __init__(self, reason: str, *, file: str, position: int) -> None:
        super().__init__(
            f"{file}, position {position}: {reason}",
            remedy="These bytes are not landed; the capture reconnects. If it happens again, check"
            " the server's error log.",
        )
        self.position = position


class LostConnectionError(CaptureError):
    """The connection was lost, or silent for longer than heartbeats allow."""

    retryable = True


class DumpRefusedError(CaptureError):
    """The server ended the dump with an error of this `code` and `message`."""

    def __init__(self, code: int, message: str, *, retryable: bool = False) -> None:
        _, cause, remedy = dump_end(message)
        reason = f"the server ended the dump with error {code}: {message.rstrip('.')}. {cause}"
        super().__init__(reason.rstrip(), remedy=remedy)
        self.code = code
        self.message = message
        self.retryable = retryable


class SameIdentityError(CaptureError):
    """Another capture or replica is connected with this capture's identity."""

    def __init__(self, *, folder: str, state: str) -> None:
        super().__init__(
            f"another capture or replica has connected with the identity of {folder}: the server"
            " sends its log only to one of them. One folder is a copy of the other, or another"
            " replica has the same server_id (capture.server_id).",
            remedy=f"If a folder was copied, stop the capture of the copy and remove {state} from"
            " the copy: its capture then continues from its files with an identity of its own. Then"
            " run this one again.",
        )


class TooFewConnectionsError(CaptureError):
    """The user may have only one connection, but a capture needs two."""

    def __init__(self, *, address: str, user: str) -> None:
        super().__init__(
            f"{user} at {address} may have only one connection at a time (max_user_connections),"
            " but a capture needs two: one for the log, one to query the server's position.",
            remedy=f"Raise the limit: ALTER USER {user!r} WITH MAX_USER_CONNECTIONS 2, or more (or"
            " the server's max_user_connections, if that sets it).",
        )


class PurgedError(CaptureError):
    """The server has purged files that are not landed, all those before `first`."""

    def __init__(self, *, file: str, position: int, first: str, folder: str) -> None:
        super().__init__(
            f"the server has purged its log: {folder} ends at {file}, position {position}, and the"
            f" server's first remaining file is {first}. The changes between are missing.",
            remedy="Restore the files in between from a backup into the folder, or set"
            " capture.purged: continue, which continues and reports the gap in the status.",
        )
        self.first = first


class MissingGtidsError(CaptureError):
    """After a failover, the new server's logs lack transactions that are not landed: `gtids`."""

    def __init__(self, *, gtids: str, first: str, folder: str, server: str) -> None:
        super().__init__(
            f"the logs of {server} do not contain {gtids}, which {folder} lacks: the files were"
            f" purged (the first remaining one is {first}), or the server does not log what it"
            " replicates.",
            remedy="Capture from another replica that has them. Or set capture.purged: continue,"
            " which continues and reports the gap in the status, and restore the logs that contain"
            " them from a backup: those of the previous server, next to its landed files. Once"
            " bronze has what follows the gap, another server's logs close it only in a new lake.",
        )


class UnloggedReplicationError(CaptureError):
    """After a failover, the new server is a replica that does not log what it replicates."""

    def __init__(self, *, folder: str, server: str) -> None:
        super().__init__(
            f"{server} is a replica that does not log what it replicates: these changes would be"
            f" missing in {folder}.",
            remedy="Capture from its source, or from a replica with log_replica_updates (MariaDB:"
            " log_slave_updates). If it is the new source, stop its replication first: STOP"
            " REPLICA; RESET REPLICA ALL.",
        )


class AnotherLogError(CaptureError):
    """The server's log does not continue the landed one."""

    def __init__(self, reason: str, *, folder: str) -> None:
        super().__init__(
            f"the server's log does not continue the one in {folder}: {reason}",
            remedy="Landed files were not changed. Check the server; to capture another log (after"
            " a RESET, a restore or a change of servers), set capture.to to another folder.",
        )


class DamagedFolderError(CaptureError):
    """A landed file was changed or damaged."""

    def __init__(self, reason: str, *, file: str) -> None:
        super().__init__(
            f"{file}: {reason}",
            remedy="Another program has written it, or the disk is damaged. Move this file and all"
            " later ones away, and run again: they are captured again if the server still has"
            " them.",
        )


class DamagedStateError(CaptureError):
    """A capture's state file cannot be read."""

    def __init__(self, reason: str, *, file: str) -> None:
        super().__init__(
            f"{file} is not a capture's state: {reason}.",
            remedy="Another program has written it, or the disk is damaged. Restore it from a"
            " backup, or move it away and run again: the capture then continues from the end of the"
            " landed files as a new replica of the server; counters start at zero, and recorded"
            " gaps are lost.",
        )


class NotLandedError(CaptureError):
    """Captured bytes cannot be written to the folder: a full or failing disk."""

    retryable = True

    def __init__(self, reason: str, *, folder: str) -> None:
        super().__init__(
            f"{folder} cannot be written: {reason}.",
            remedy="Free space on the disk, or repair it, and run again: the capture resumes at"
            " the last checkpoint.",
        )


class FolderInUseError(CaptureError):
    """Another capture writes this folder."""

    retryable = True

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"another capture is writing {folder}.",
            remedy="Run one at a time for a folder, or give this one another capture.to.",
        )
