"""MySQL's encrypted binary logs: the header before them, the keys that open it, the stream behind.

A log that was written with `binlog_encryption=ON` is a header of 512 bytes, and behind it the log
as it would be without encryption, its magic number included, encrypted with AES-256 in counter
mode. Key and counter come from the file's password, which is in the header, itself encrypted by a
key of the server's keyring. Positions count from behind the header, as the server's own do.

Format: MySQL `sql/rpl_log_encryption.{h,cc}`, `sql/stream_cipher.cc`.
"""

from __future__ import annotations

__all__ = ["header", "keyring", "keys", "stream_cipher"]
