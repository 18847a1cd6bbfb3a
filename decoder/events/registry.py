"""The table of event types and the classes that read them.

How an event is handled is decided elsewhere: `decoder.transactions.state` and `control_events`.
"""

from __future__ import annotations

from typing import Protocol

from decoder.constants import EventType
from decoder.errors import BinlogError
from decoder.events.append_block import AppendBlockEvent
from decoder.events.begin_load_query import BeginLoadQueryEvent
from decoder.events.create_file import CreateFileEvent
from decoder.events.cursor import Cursor
from decoder.events.delete_file import DeleteFileEvent
from decoder.events.event import Event
from decoder.events.exec_load import ExecLoadEvent
from decoder.events.execute_load_query import ExecuteLoadQueryEvent
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.gtid import AnonymousGtidEvent, GtidEvent
from decoder.events.gtid_tagged import GtidTaggedEvent
from decoder.events.header import EventHeader
from decoder.events.heartbeat import HeartbeatEvent
from decoder.events.heartbeat_v2 import HeartbeatV2Event
from decoder.events.ignorable import IgnorableEvent
from decoder.events.incident import IncidentEvent
from decoder.events.intvar import IntvarEvent
from decoder.events.load import LoadEvent
from decoder.events.mariadb_annotate_rows import MariadbAnnotateRowsEvent
from decoder.events.mariadb_binlog_checkpoint import MariadbBinlogCheckpointEvent
from decoder.events.mariadb_gtid import MariadbGtidEvent
from decoder.events.mariadb_gtid_list import MariadbGtidListEvent
from decoder.events.mariadb_start_encryption import MariadbStartEncryptionEvent
from decoder.events.previous_gtids import PreviousGtidsEvent
from decoder.events.query import QueryEvent
from decoder.events.query_compressed import QueryCompressedEvent
from decoder.events.rand import RandEvent
from decoder.events.rotate import RotateEvent
from decoder.events.rows import RowsEvent
from decoder.events.rows_query import RowsQueryEvent
from decoder.events.slave import SlaveEvent
from decoder.events.start_v3 import StartV3Event
from decoder.events.stop import StopEvent
from decoder.events.table_map import TableMapEvent
from decoder.events.transaction_context import TransactionContextEvent
from decoder.events.transaction_payload import TransactionPayloadEvent
from decoder.events.unknown import UnknownEvent
from decoder.events.user_var import UserVarEvent
from decoder.events.view_change import ViewChangeEvent
from decoder.events.xa_prepare import XaPrepareEvent
from decoder.events.xid import XidEvent


class EventClass(Protocol):
    """A class that reads events of some types."""

    def parse(self, body: Cursor) -> Event:
        """Read the event from its bytes after the common header, without the checksum."""


EVENTS: dict[int, EventClass] = {
    EventType.UNKNOWN: UnknownEvent,
    EventType.START_V3: StartV3Event,
    EventType.QUERY: QueryEvent,
    EventType.STOP: StopEvent,
    EventType.ROTATE: RotateEvent,
    EventType.INTVAR: IntvarEvent,
    EventType.LOAD: LoadEvent,
    EventType.SLAVE: SlaveEvent,
    EventType.CREATE_FILE: CreateFileEvent,
    EventType.APPEND_BLOCK: AppendBlockEvent,
    EventType.EXEC_LOAD: ExecLoadEvent,
    EventType.DELETE_FILE: DeleteFileEvent,
    EventType.NEW_LOAD: LoadEvent,
    EventType.RAND: RandEvent,
    EventType.USER_VAR: UserVarEvent,
    EventType.FORMAT_DESCRIPTION: FormatDescriptionEvent,
    EventType.XID: XidEvent,
    EventType.BEGIN_LOAD_QUERY: BeginLoadQueryEvent,
    EventType.EXECUTE_LOAD_QUERY: ExecuteLoadQueryEvent,
    EventType.TABLE_MAP: TableMapEvent,
    EventType.PRE_GA_WRITE_ROWS: RowsEvent,
    EventType.PRE_GA_UPDATE_ROWS: RowsEvent,
    EventType.PRE_GA_DELETE_ROWS: RowsEvent,
    EventType.WRITE_ROWS_V1: RowsEvent,
    EventType.UPDATE_ROWS_V1: RowsEvent,
    EventType.DELETE_ROWS_V1: RowsEvent,
    EventType.INCIDENT: IncidentEvent,
    EventType.HEARTBEAT: HeartbeatEvent,
    EventType.IGNORABLE: IgnorableEvent,
    EventType.ROWS_QUERY: RowsQueryEvent,
    EventType.WRITE_ROWS: RowsEvent,
    EventType.UPDATE_ROWS: RowsEvent,
    EventType.DELETE_ROWS: RowsEvent,
    EventType.GTID: GtidEvent,
    EventType.ANONYMOUS_GTID: AnonymousGtidEvent,
    EventType.PREVIOUS_GTIDS: PreviousGtidsEvent,
    EventType.TRANSACTION_CONTEXT: TransactionContextEvent,
    EventType.VIEW_CHANGE: ViewChangeEvent,
    EventType.XA_PREPARE: XaPrepareEvent,
    EventType.PARTIAL_UPDATE_ROWS: RowsEvent,
    EventType.TRANSACTION_PAYLOAD: TransactionPayloadEvent,
    EventType.HEARTBEAT_V2: HeartbeatV2Event,
    EventType.GTID_TAGGED: GtidTaggedEvent,
    EventType.MARIADB_ANNOTATE_ROWS: MariadbAnnotateRowsEvent,
    EventType.MARIADB_BINLOG_CHECKPOINT: MariadbBinlogCheckpointEvent,
    EventType.MARIADB_GTID: MariadbGtidEvent,
    EventType.MARIADB_GTID_LIST: MariadbGtidListEvent,
    EventType.MARIADB_START_ENCRYPTION: MariadbStartEncryptionEvent,
    EventType.MARIADB_QUERY_COMPRESSED: QueryCompressedEvent,
    EventType.MARIADB_WRITE_ROWS_COMPRESSED_V1: RowsEvent,
    EventType.MARIADB_UPDATE_ROWS_COMPRESSED_V1: RowsEvent,
    EventType.MARIADB_DELETE_ROWS_COMPRESSED_V1: RowsEvent,
    EventType.MARIADB_WRITE_ROWS_COMPRESSED: RowsEvent,
    EventType.MARIADB_UPDATE_ROWS_COMPRESSED: RowsEvent,
    EventType.MARIADB_DELETE_ROWS_COMPRESSED: RowsEvent,
}
"""A class for every `EventType`; unknown codes become an `UnknownEvent`."""


def parse(body: memoryview, header: EventHeader, description: FormatDescriptionEvent) -> Event:
    """Read any event from its bytes after the common header, without the checksum.

    For a FORMAT_DESCRIPTION, `body` includes the checksum. Raises BinlogError with the event's
    position and type.
    """
    try:
        return EVENTS.get(header.type, UnknownEvent).parse(Cursor(body, header, description))
    except BinlogError as error:
        raise error.at(position=header.position, event_type=header.name) from error
