"""Opening the encrypted logs among the input, with the keys that conf gives.

Keys stay in this process: Spark's workers get a cipher for each file, which a rotation of the
server's key does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from decoder import BinlogError, Keys
from decoder.encryption.keyring import replication_keys
from decoder.encryption.keys import HEAD_LENGTH, NO_KEYS
from decoder.encryption.stream_cipher import StreamCipher
from pipeline.errors import SettingsError
from pipeline.settings.settings import EncryptionSettings
from pipeline.source.logs.archive import log_name
from pipeline.source.logs.storage import THREADS, opened

GIVE_A_KEY = (
    "Give the server's keyring file as encryption.keyring in conf, or this file's password under"
    " encryption.passwords; a copy from before a rotation of the server's key must be made anew."
)
"""What to do about an EncryptedError."""


def read_keys(encryption: EncryptionSettings) -> Keys:
    """The keys that conf gives. Raises SettingsError for a keyring that cannot be read."""
    passwords = {
        file: bytes.fromhex(password.get_secret_value())
        for file, password in encryption.passwords.items()
    }
    if encryption.keyring is None:
        return Keys(passwords=passwords) if passwords else NO_KEYS
    try:
        with opened(encryption.keyring) as stream:
            keyring = replication_keys(stream.read())
    except (OSError, ImportError, ValueError, BinlogError) as error:
        raise SettingsError(
            f"{encryption.keyring} cannot be read: {getattr(error, 'strerror', None) or error}.",
            key="encryption.keyring",
            remedy="It is the file that component_keyring_file.cnf on the server names as path.",
        ) from error
    return Keys(keyring, passwords)


def find_cipher(stored: BinaryIO, file: str, keys: Keys) -> StreamCipher | None:
    """The cipher of a file that was just opened; None where it is not encrypted.

    Raises BinlogError where no key opens it. The file is at its beginning again.
    """
    cipher = keys.unlock(stored.read(HEAD_LENGTH), file=file)
    stored.seek(0)
    return cipher


def find_ciphers(files: Iterable[tuple[str, str | None]], keys: Keys) -> dict[str, StreamCipher]:
    """The ciphers of those files that are encrypted and can be opened, by path.

    `files` are paths with what each is compressed with.
    """
    if keys == NO_KEYS:
        return {}

    def cipher_of(file: tuple[str, str | None]) -> tuple[str, StreamCipher | None]:
        path, codec = file
        try:
            with opened(path, codec=codec, ahead=HEAD_LENGTH) as stored:
                return path, find_cipher(stored, log_name(path), keys)
        except (OSError, BinlogError):
            return (
                path,
                None,
            )  # its bytes will not be the planned ones, and listing tells the reason

    with ThreadPoolExecutor(THREADS) as threads:
        found = threads.map(cipher_of, files)
        return {path: cipher for path, cipher in found if cipher is not None}
