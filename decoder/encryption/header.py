"""The header of an encrypted log: which key encrypted the file's password, and the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CBC

from decoder.constants import MAGIC_ENCRYPTED
from decoder.errors import EncryptedError, MalformedError, TruncatedError, UnsupportedError

HEADER_LENGTH = 512
"""Bytes before the encrypted log."""
KEY_LENGTH = 32
PASSWORD_LENGTH = 32
_VERSION = 1
_IV_LENGTH = 16


class _Field(NamedTuple):
    """A field of the header: a byte of type, then its bytes, after their count if `size` is not."""

    name: str
    size: int | None


_FIELDS = {
    1: _Field("key_id", None),
    2: _Field("encrypted_password", PASSWORD_LENGTH),
    3: _Field("iv", _IV_LENGTH),
}
_END = 0


@dataclass(frozen=True, slots=True)
class EncryptionHeader:
    """The first 512 bytes of an encrypted log (MySQL's `Rpl_encryption_header_v1`)."""

    version: int
    """u8: 1."""
    key_id: str
    """The keyring key that encrypted the password: `MySQLReplicationKey_<server uuid>_<number>`."""
    encrypted_password: bytes
    """32 bytes. A rotation of the keyring's key encrypts the same password anew, in place."""
    iv: bytes
    """16 bytes: with which the password was encrypted."""

    @classmethod
    def parse(cls, data: bytes) -> EncryptionHeader:
        """The header that the file's first bytes are.

        Raises TruncatedError where they are fewer than 512, MalformedError for what no server
        writes, UnsupportedError for a later version.
        """
        if data[: len(MAGIC_ENCRYPTED)] != MAGIC_ENCRYPTED:
            raise MalformedError("it does not start with fd 62 69 6e", position=0)
        head = data[:HEADER_LENGTH]
        if len(head) < HEADER_LENGTH:
            raise TruncatedError("the file ends inside its encryption header", position=0)
        version = head[len(MAGIC_ENCRYPTED)]
        if version != _VERSION:
            reason = f"it is encrypted, with a header of version {version}, not {_VERSION}"
            raise UnsupportedError(reason, position=len(MAGIC_ENCRYPTED))
        fields = _fields(head, len(MAGIC_ENCRYPTED) + 1)
        for field in _FIELDS.values():
            if not fields.get(field.name):
                raise MalformedError(f"its encryption header has no {field.name}", position=0)
        key_id = fields["key_id"].decode("latin-1")
        if not (key_id.isascii() and key_id.isprintable()):
            raise MalformedError("the key id in its encryption header is no text", position=0)
        return cls(version, key_id, fields["encrypted_password"], fields["iv"])

    def password(self, key: bytes) -> bytes:
        """The file's password, decrypted by the keyring's key of this `key_id`.

        AES-256 in CBC mode without padding. Another key gives another password: what it decrypts
        is no log. Raises EncryptedError for a key that has not 32 bytes.
        """
        if len(key) != KEY_LENGTH:
            reason = f"the key {self.key_id} has {len(key)} bytes, not {KEY_LENGTH}"
            raise EncryptedError(reason, position=0)
        decryptor = Cipher(AES256(key), CBC(self.iv)).decryptor()
        return decryptor.update(self.encrypted_password) + decryptor.finalize()


def _fields(head: bytes, offset: int) -> dict[str, bytes]:
    """The fields by name, up to the padding with zeros."""
    found: dict[str, bytes] = {}
    while offset < len(head) and head[offset] != _END:
        field = _FIELDS.get(head[offset])
        if field is None:
            reason = f"its encryption header has a field of the unknown type {head[offset]}"
            raise MalformedError(reason, position=offset)
        start, size = offset + 1, field.size
        if size is None:
            start, size = offset + 2, head[offset + 1] if offset + 1 < len(head) else 1
        value = head[start : start + size]
        if len(value) < size:
            reason = f"the {field.name} goes beyond its encryption header"
            raise MalformedError(reason, position=offset)
        found[field.name] = value
        offset = start + size
    return found
