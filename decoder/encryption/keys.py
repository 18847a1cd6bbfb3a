"""Opening encrypted logs with the keys at hand."""

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
"""Bytes that tell whether a file is encrypted, and whether a key opens it."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets that open logs, which are not shown.

    `keyring`: keys by id; `passwords`: of single files, by name, instead.
    """

    keyring: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    passwords: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def of_keyring(cls, data: bytes) -> Keys:
        """The keys in a keyring file of MySQL's. Raises BinlogError where it is none."""
        return cls(replication_keys(data))

    def unlock(self, head: bytes, *, file: str = "") -> StreamCipher | None:
        """The cipher of the file that starts with `head`; None where it is not encrypted.

        `head` is `HEAD_LENGTH` bytes, fewer only if the file is shorter. Raises EncryptedError
        without the key, or with one that does not open it, BinlogError for a malformed header.
        """
        if head[: len(MAGIC_ENCRYPTED)] != MAGIC_ENCRYPTED:
            return None
        try:
            return self._unlock(head, file.rsplit("/", 1)[-1])
        except BinlogError as error:
            raise error.at(file=file or None) from error

    def decrypted(self, data: Any, *, file: str = "") -> Any:
        """A whole file as it would be without encryption: `data` itself where it is.

        `data` has a buffer. Raises as `unlock` does.
        """
        view = memoryview(data).cast("B")
        cipher = self.unlock(bytes(view[:HEAD_LENGTH]), file=file)
        return data if cipher is None else cipher.decrypt(view[HEADER_LENGTH:], 0)

    def _unlock(self, head: bytes, name: str) -> StreamCipher:
        header = EncryptionHeader.parse(head)
        if len(head) < HEAD_LENGTH:
            raise TruncatedError("the file ends behind its encryption header", position=0)
        cipher = StreamCipher.of_password(self._password(header, name))
        if cipher.decrypt(head[HEADER_LENGTH:HEAD_LENGTH], 0) != MAGIC:
            used = "password" if name in self.passwords else f"key {header.key_id}"
            reason = f"it is encrypted, and what was given as its {used} does not decrypt it"
            raise EncryptedError(reason, position=0)
        return cipher

    def _password(self, header: EncryptionHeader, name: str) -> bytes:
        if (given := self.passwords.get(name)) is not None:
            return given
        if (key := self.keyring.get(header.key_id)) is not None:
            return header.password(key)
        lacking = "is not in the keyring" if self.keyring else "was not given"
        reason = f"it is encrypted with the key {header.key_id}, which {lacking}"
        raise EncryptedError(reason, position=0)


NO_KEYS = Keys()
