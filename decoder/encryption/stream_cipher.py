"""What an encrypted log's bytes are: AES-256 in counter mode, so that any stretch can be read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

_KEY_LENGTH = 32
_NONCE_LENGTH = 8
_COUNTER_LENGTH = 8
_BLOCK = 16


@dataclass(frozen=True, slots=True)
class StreamCipher:
    """Decrypts one log; holds its secrets, which are not shown.

    The counter's block is `nonce`, 8 bytes, and the number of the block in the log, 8 bytes
    big-endian. Format: MySQL `sql/stream_cipher.cc`, `Aes_ctr_cipher`.
    """

    key: bytes = field(repr=False)
    nonce: bytes = field(repr=False)

    @classmethod
    def of_password(cls, password: bytes) -> StreamCipher:
        """The cipher of the log that has this password: its SHA-512 is key and nonce."""
        digest = hashlib.sha512(password).digest()
        return cls(digest[:_KEY_LENGTH], digest[_KEY_LENGTH : _KEY_LENGTH + _NONCE_LENGTH])

    def decrypt(self, data: bytes | memoryview, offset: int) -> bytes:
        """The bytes that `data` holds encrypted; it stands at `offset` behind the header."""
        block, inside = divmod(offset, _BLOCK)
        counter = self.nonce + block.to_bytes(_COUNTER_LENGTH, "big")
        decryptor = Cipher(AES256(self.key), CTR(counter)).decryptor()
        decryptor.update(bytes(inside))
        return decryptor.update(data)
