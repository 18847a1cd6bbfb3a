"""Keys from conf, and listing the encrypted files that they decrypt."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from decoder import Keys
from decoder.encryption.keys import NO_KEYS
from pipeline.errors import SettingsError
from pipeline.settings.settings import EncryptionSettings
from pipeline.source import find_binlogs
from pipeline.source.logs.ciphers import find_ciphers, read_keys
from pipeline.source.logs.storage import opened
from tests.support.decoder.encrypted_log import FOLDER, HEADER, KEYRING, KEYS, LOG, PASSWORD, PLAIN

NAME = "binlog.000001"
WRONG = Keys(keyring={HEADER.key_id: bytes(32)})


def test_keys_come_from_the_keyring_and_from_passwords_of_files() -> None:
    settings = EncryptionSettings.model_validate(
        {"keyring": str(FOLDER / "keyring"), "passwords": {NAME: PASSWORD.hex()}}
    )
    assert read_keys(settings) == Keys(KEYS.keyring, {NAME: PASSWORD})
    assert read_keys(EncryptionSettings()) == NO_KEYS


def test_a_keyring_is_read_from_a_store() -> None:
    fsspec.filesystem("memory").pipe("/secrets/keyring", KEYRING)
    assert read_keys(EncryptionSettings(keyring="memory://secrets/keyring")) == KEYS


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none", "No such file or directory"),
        (NAME, "it is not a MySQL keyring file"),
        ("", "Is a directory"),
    ],
)
def test_an_unreadable_keyring_is_a_settings_error(path: str, message: str) -> None:
    location = str(FOLDER / path)
    with pytest.raises(
        SettingsError, match=rf"^encryption.keyring: {location} cannot be .*{message}"
    ):
        read_keys(EncryptionSettings(keyring=location))


def test_an_unknown_store_protocol_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="Protocol not known: foo"):
        read_keys(EncryptionSettings(keyring="foo://secrets/keyring"))


def test_with_its_key_an_encrypted_log_is_listed_like_a_plain_one(tmp_path: Path) -> None:
    for folder, content in (("encrypted", LOG), ("plain", PLAIN)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / NAME).write_bytes(content)
    (found,) = find_binlogs(str(tmp_path / "encrypted"), KEYS).binlogs
    (plain,) = find_binlogs(str(tmp_path / "plain"), KEYS).binlogs
    assert (found.stored.size, found.head) == (len(PLAIN), plain.head)
    assert plain.cipher is None
    with opened(found.stored.path, found.cipher) as stream:
        assert stream.read() == PLAIN


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (NO_KEYS, f"the file is encrypted with the key {HEADER.key_id}, which was not given."),
        (WRONG, f"the given key {HEADER.key_id} does not decrypt it."),
    ],
)
def test_without_its_key_the_fault_names_file_key_and_remedy(
    tmp_path: Path, keys: Keys, message: str
) -> None:
    (tmp_path / NAME).write_bytes(LOG)
    (tmp_path / "binlog.000002").write_bytes(PLAIN)
    found = find_binlogs(str(tmp_path), keys)
    assert [binlog.stored.name for binlog in found.binlogs] == ["binlog.000002"]
    (fault,) = found.faults
    assert fault.startswith(f"{NAME}, position 0: the file is encrypted")
    assert message in fault
    assert "encryption.keyring in the settings" in fault
    assert "Copy the file" not in fault


@pytest.mark.parametrize("size", [4, 300, 512, 515])
def test_a_file_truncated_within_its_encryption_header_is_a_fault(
    tmp_path: Path, size: int
) -> None:
    (tmp_path / NAME).write_bytes(LOG[:size])
    (fault,) = find_binlogs(str(tmp_path), KEYS).faults
    assert "its encryption header" in fault


def test_ciphers_are_returned_for_encrypted_files_with_a_known_key(tmp_path: Path) -> None:
    other = LOG.replace(HEADER.key_id.encode(), HEADER.key_id[:-1].encode() + b"9")
    for name, content in (("a", LOG), ("b", PLAIN), ("c", other), ("d", b"")):
        (tmp_path / name).write_bytes(content)
    paths = [str(tmp_path / name) for name in "abcde"]
    assert list(find_ciphers([(path, None) for path in paths], KEYS)) == [paths[0]]
    assert find_ciphers([(path, None) for path in paths], NO_KEYS) == {}
