"""Any range of an encrypted log decrypts to the plain log's bytes."""

from __future__ import annotations

from hypothesis import given, strategies as st

from decoder.encryption.header import HEADER_LENGTH
from decoder.encryption.stream_cipher import StreamCipher
from tests.support.decoder.encrypted_log import LOG, PASSWORD, PLAIN

CIPHER = StreamCipher.from_password(PASSWORD)
CONTENT = LOG[HEADER_LENGTH:]


def test_a_whole_log_decrypts_to_the_plain_log() -> None:
    assert CIPHER.decrypt(CONTENT, 0) == PLAIN


@given(st.integers(0, len(PLAIN)), st.integers(0, 100))
def test_any_range_decrypts_alone(start: int, size: int) -> None:
    assert CIPHER.decrypt(CONTENT[start : start + size], start) == PLAIN[start : start + size]


@given(st.integers(0, 1 << 60), st.binary(max_size=70))
def test_adjacent_ranges_decrypt_like_one_range(offset: int, data: bytes) -> None:
    half = len(data) // 2
    parts = CIPHER.decrypt(data[:half], offset) + CIPHER.decrypt(data[half:], offset + half)
    assert CIPHER.decrypt(parts, offset) == data


def test_repr_does_not_show_secrets() -> None:
    assert repr(CIPHER) == "StreamCipher()"
