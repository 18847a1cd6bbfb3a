"""A log encrypted by a real server, its keyring, and the log as that server sends it."""

from __future__ import annotations

from decoder import Keys
from decoder.encryption.header import HEADER_LENGTH, EncryptionHeader
from decoder.encryption.keyring import replication_keys
from decoder.encryption.stream_cipher import StreamCipher
from tests.support.decoder.event_bytes import DATA

FOLDER = DATA / "encrypted"
LOG = (FOLDER / "binlog.000001").read_bytes()
PLAIN = (FOLDER / "plain").read_bytes()
KEYRING = (FOLDER / "keyring").read_bytes()
KEYS = Keys.from_keyring(KEYRING)
HEADER = EncryptionHeader.parse(LOG)
PASSWORD = HEADER.password(replication_keys(KEYRING)[HEADER.key_id])


def encrypted(log: bytes) -> bytes:
    """Return the log as that server would encrypt it under the recorded header."""
    # In counter mode, encryption and decryption are the same operation.
    return LOG[:HEADER_LENGTH] + StreamCipher.from_password(PASSWORD).decrypt(log, 0)
