"""Keys and ciphers of encrypted log files, from the keyring and passwords in the settings.

Keys stay in the driver process: Spark's workers get one cipher per file, which does not change when
the server's key is rotated.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import BinaryIO

from decoder import BinlogError, Keys
from decoder.encryption import HEAD_LENGTH, NO_KEYS, StreamCipher
from pipeline.errors import SettingsError
from pipeline.settings.settings import EncryptionSettings
from pipeline.source.logs.archive import log_name
from pipeline.source.logs.storage import THREADS, opened

ENCRYPTION_REMEDY = (
    "Set encryption.keyring in the settings to the server's keyring file, or add this file's"
    " password to encryption.passwords. Copy the log file again if the server's key was rotated"
    " since."
)
"""Remedy for an EncryptedError."""


def read_keys(encryption: EncryptionSettings) -> Keys:
    """Return the keys in the settings. Raises SettingsError if the keyring cannot be read."""
    passwords = {
        file: bytes.fromhex(password.get_secret_value())
        for file, password in encryption.passwords.items()
    }
    if encryption.keyring is None:
        return Keys(passwords=passwords) if passwords else NO_KEYS
    try:
        with opened(encryption.keyring) as stream:
            keys = Keys.from_keyring(stream.read())
    except (OSError, ImportError, ValueError, BinlogError) as error:
        raise SettingsError(
            f"{encryption.keyring} cannot be read: {getattr(error, 'strerror', None) or error}.",
            key="encryption.keyring",
            remedy="Give a copy of the file at `path` in the server's component_keyring_file.cnf.",
        ) from error
    return replace(keys, passwords=passwords)


def find_cipher(stored: BinaryIO, file: str, keys: Keys) -> StreamCipher | None:
    """Return the cipher of a newly opened file and rewind it; None if it is not encrypted.

    Raises BinlogError if no key decrypts it.
    """
    cipher = keys.unlock(stored.read(HEAD_LENGTH), file=file)
    stored.seek(0)
    return cipher


def find_ciphers(files: Iterable[tuple[str, str | None]], keys: Keys) -> dict[str, StreamCipher]:
    """Return the ciphers of those files that are encrypted and can be decrypted, by path.

    `files` are pairs of path and codec.
    """
    if keys == NO_KEYS:
        return {}

    def cipher_of(file: tuple[str, str | None]) -> tuple[str, StreamCipher | None]:
        path, codec = file
        try:
            with opened(path, codec=codec, ahead=HEAD_LENGTH) as stored:
                return path, find_cipher(stored, log_name(path), keys)
        except (OSError, BinlogError):
            # Its bytes will not match the plan, and the next listing reports the reason.
            return path, None

    with ThreadPoolExecutor(THREADS) as threads:
        found = threads.map(cipher_of, files)
        return {path: cipher for path, cipher in found if cipher is not None}
