"""The cipher of an encrypted log: AES-256 in counter mode, which allows random access."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

_KEY_LENGTH = 32
_NONCE_LENGTH = 8
_COUNTER_LENGTH = 8
_BLOCK = 16


def aes256_decryptor(key: bytes, mode: Literal["CBC", "CTR"], start: bytes) -> CipherContext:
    """Return a decryptor; `start`: the initialization vector, or the first counter block."""
    # Imported here, since it takes a while, and few logs are encrypted.
    from cryptography.hazmat.primitives.ciphers import Cipher, modes
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256

    if mode == "CBC":
        return Cipher(AES256(key), modes.CBC(start)).decryptor()
    return Cipher(AES256(key), modes.CTR(start)).decryptor()


@dataclass(frozen=True, slots=True)
class StreamCipher:
    """The cipher of one log; `repr` does not show its secrets.

    A counter block is the 8 bytes of `nonce` and the 16-byte block's number in the log, 8 bytes
    big-endian. Format: MySQL `sql/stream_cipher.cc`, `Aes_ctr_cipher`.
    """

    key: bytes = field(repr=False)
    nonce: bytes = field(repr=False)

    @classmethod
    def from_password(cls, password: bytes) -> StreamCipher:
        """Return the cipher for a file's password, whose SHA-512 is the key and the nonce."""
        digest = hashlib.sha512(password).digest()
        return cls(digest[:_KEY_LENGTH], digest[_KEY_LENGTH : _KEY_LENGTH + _NONCE_LENGTH])

    def decrypt(self, data: bytes | memoryview, offset: int) -> bytes:
        """Decrypt `data`, which starts `offset` bytes after the header."""
        block, skipped = divmod(offset, _BLOCK)
        counter = self.nonce + block.to_bytes(_COUNTER_LENGTH, "big")
        decryptor = aes256_decryptor(self.key, "CTR", counter)
        decryptor.update(bytes(skipped))
        return decryptor.update(data)
