"""MySQL's encrypted binary logs: encryption header, keys and stream cipher.

A log written with `binlog_encryption=ON` starts with a header of 512 bytes. The rest is the plain
log, including its magic number, encrypted with AES-256 in counter mode. Key and counter are derived
from the file's password, which the header contains, encrypted with a key of the server's keyring.
Positions count from the end of the header, as on the server.

Format: MySQL `sql/rpl_log_encryption.{h,cc}`, `sql/stream_cipher.cc`.
"""

from __future__ import annotations

from decoder.encryption.header import HEADER_LENGTH, EncryptionHeader
from decoder.encryption.keys import HEAD_LENGTH, NO_KEYS
from decoder.encryption.stream_cipher import StreamCipher

__all__ = [
    "HEADER_LENGTH",
    "HEAD_LENGTH",
    "NO_KEYS",
    "EncryptionHeader",
    "StreamCipher",
    "keys",
]
