"""The header of an encrypted log: the file's encrypted password and the id of its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from decoder.constants import MAGIC_ENCRYPTED
from decoder.encryption.stream_cipher import aes256_decryptor
from decoder.errors import EncryptedError, MalformedError, TruncatedError, UnsupportedError

HEADER_LENGTH = 512
"""Size in bytes of the header, before the encrypted log."""
KEY_LENGTH = 32
PASSWORD_LENGTH = 32
_VERSION = 1
_IV_LENGTH = 16


class _Field(NamedTuple):
    """A header field: a type byte, a length byte unless `size` is fixed, and the value."""

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
    """Id of the keyring key that encrypts the password: `MySQLReplicationKey_<server uuid>_<n>`."""
    encrypted_password: bytes
    """32 bytes. Rotating the keyring key re-encrypts the same password in place."""
    iv: bytes
    """16 bytes: the initialization vector of the password's encryption."""

    @classmethod
    def parse(cls, data: bytes) -> EncryptionHeader:
        """Parse the header from the file's first bytes.

        Raises TruncatedError for fewer than 512 bytes, MalformedError for content that no server
        writes, and UnsupportedError for a later version.
        """
        if data[: len(MAGIC_ENCRYPTED)] != MAGIC_ENCRYPTED:
            raise MalformedError("the file does not start with fd 62 69 6e", position=0)
        head = data[:HEADER_LENGTH]
        if len(head) < HEADER_LENGTH:
            raise TruncatedError("the file ends inside its encryption header", position=0)
        version = head[len(MAGIC_ENCRYPTED)]
        if version != _VERSION:
            reason = (
                f"the file is encrypted with header version {version};"
                f" only version {_VERSION} is supported"
            )
            raise UnsupportedError(reason, position=len(MAGIC_ENCRYPTED))
        fields = _fields(head, len(MAGIC_ENCRYPTED) + 1)
        for field in _FIELDS.values():
            if not fields.get(field.name):
                raise MalformedError(f"the encryption header has no {field.name}", position=0)
        key_id = fields["key_id"].decode("latin-1")
        if not (key_id.isascii() and key_id.isprintable()):
            reason = "the key id in the encryption header is not printable ASCII text"
            raise MalformedError(reason, position=0)
        return cls(version, key_id, fields["encrypted_password"], fields["iv"])

    def password(self, key: bytes) -> bytes:
        """Return the file's password, decrypted with the keyring key of this `key_id`.

        AES-256 in CBC mode without padding. A wrong key is not detected here: it yields a wrong
        password. Raises EncryptedError for a key that does not have 32 bytes.
        """
        if len(key) != KEY_LENGTH:
            reason = f"the key {self.key_id} has {len(key)} bytes, not {KEY_LENGTH}"
            raise EncryptedError(reason, position=0)
        decryptor = aes256_decryptor(key, "CBC", self.iv)
        return decryptor.update(self.encrypted_password) + decryptor.finalize()


def _fields(head: bytes, offset: int) -> dict[str, bytes]:
    """Return the fields by name, up to the zero padding."""
    found: dict[str, bytes] = {}
    while offset < len(head) and head[offset] != _END:
        field = _FIELDS.get(head[offset])
        if field is None:
            reason = f"the encryption header has a field of unknown type {head[offset]}"
            raise MalformedError(reason, position=offset)
        start, size = offset + 1, field.size
        if size is None:
            start, size = offset + 2, head[offset + 1] if offset + 1 < len(head) else 1
        value = head[start : start + size]
        if len(value) < size:
            reason = f"the {field.name} extends beyond the encryption header"
            raise MalformedError(reason, position=offset)
        found[field.name] = value
        offset = start + size
    return found
