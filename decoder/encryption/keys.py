"""Keys and passwords that decrypt encrypted logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from decoder.constants import MAGIC, MAGIC_ENCRYPTED
from decoder.encryption.header import HEADER_LENGTH, EncryptionHeader
from decoder.encryption.keyring import replication_keys
from decoder.encryption.stream_cipher import StreamCipher
from decoder.errors import BinlogError, EncryptedError, TruncatedError

HEAD_LENGTH = HEADER_LENGTH + len(MAGIC)
"""Bytes needed to detect whether a file is encrypted and whether a key decrypts it."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets that decrypt logs; `repr` does not show them.

    `keyring`: keys by id. `passwords`: passwords of single files by file name; these take
    precedence over the keyring.
    """

    keyring: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    passwords: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def from_keyring(cls, data: bytes) -> Keys:
        """Return the keys in a MySQL keyring file. Raises BinlogError if it is not one."""
        return cls(replication_keys(data))

    def unlock(self, head: bytes, *, file: str = "") -> StreamCipher | None:
        """Return the cipher of the file that starts with `head`; None if it is not encrypted.

        `head` is `HEAD_LENGTH` bytes, fewer only if the file is shorter. Raises EncryptedError if
        the key is missing or does not decrypt the file, BinlogError for a malformed header.
        """
        if head[: len(MAGIC_ENCRYPTED)] != MAGIC_ENCRYPTED:
            return None
        try:
            return self._unlock(head, file.rsplit("/", 1)[-1])
        except BinlogError as error:
            raise error.at(file=file or None) from error

    def decrypted(self, data: Any, *, file: str = "") -> Any:
        """Return a whole file decrypted; `data` itself if it is not encrypted.

        `data` supports the buffer protocol. Raises like `unlock`.
        """
        view = memoryview(data).cast("B")
        cipher = self.unlock(bytes(view[:HEAD_LENGTH]), file=file)
        return data if cipher is None else cipher.decrypt(view[HEADER_LENGTH:], 0)

    def _unlock(self, head: bytes, name: str) -> StreamCipher:
        header = EncryptionHeader.parse(head)
        if len(head) < HEAD_LENGTH:
            raise TruncatedError("the file ends right after its encryption header", position=0)
        cipher = StreamCipher.from_password(self._password(header, name))
        if cipher.decrypt(head[HEADER_LENGTH:HEAD_LENGTH], 0) != MAGIC:
            used = "password" if name in self.passwords else f"key {header.key_id}"
            reason = f"the file is encrypted, and the given {used} does not decrypt it"
            raise EncryptedError(reason, position=0)
        return cipher

    def _password(self, header: EncryptionHeader, name: str) -> bytes:
        if (given := self.passwords.get(name)) is not None:
            return given
        if (key := self.keyring.get(header.key_id)) is not None:
            return header.password(key)
        problem = "is not in the keyring" if self.keyring else "was not given"
        reason = f"the file is encrypted with the key {header.key_id}, which {problem}"
        raise EncryptedError(reason, position=0)


NO_KEYS = Keys()
