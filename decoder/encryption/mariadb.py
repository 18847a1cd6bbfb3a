"""MariaDB's encryption of logs, which is another scheme, and not read.

With `encrypt_binlog=ON` a START_ENCRYPTION event follows the FORMAT_DESCRIPTION, and every event
behind it is encrypted by itself, its header too.
Format: MariaDB `sql/log_event.h`, `Start_encryption_log_event`.
"""

from __future__ import annotations

from decoder.constants import EventType
from decoder.errors import UnsupportedError
from decoder.header import EventHeader


def refuse_mariadb_encryption(header: EventHeader) -> None:
    """Raise UnsupportedError at a START_ENCRYPTION: what follows it cannot be read."""
    if header.type == EventType.MARIADB_START_ENCRYPTION:
        raise UnsupportedError(
            "MariaDB encrypted what follows, which is not decrypted: with encrypt_binlog=OFF the"
            " server's next file is in the clear",
            position=header.position,
            event_type=header.name,
        )
