"""An encrypted file reads like the log inside, at any position."""

from __future__ import annotations

import io
import os

from hypothesis import given, strategies as st

from decoder.encryption.stream_cipher import StreamCipher
from pipeline.source.logs.decrypted_file import DecryptedFile
from pipeline.source.logs.storage import read_windows
from tests.support.decoder.encrypted_log import LOG, PASSWORD, PLAIN

CIPHER = StreamCipher.from_password(PASSWORD)
STEP = st.one_of(
    st.tuples(st.just("read"), st.integers(-1, 2 * len(PLAIN))),
    st.tuples(st.just(os.SEEK_SET), st.integers(0, 2 * len(PLAIN))),
    st.tuples(st.just(os.SEEK_END), st.integers(-len(PLAIN), 9)),
)


@given(st.lists(STEP, max_size=12))
def test_a_decrypted_file_reads_like_its_plain_bytes(steps: list[tuple[str | int, int]]) -> None:
    found, expected = DecryptedFile(io.BytesIO(LOG), CIPHER), io.BytesIO(PLAIN)
    for what, number in steps:
        if isinstance(what, int):
            assert found.seek(number, what) == expected.seek(number, what)
        else:
            assert found.read(number) == expected.read(number)
        assert found.tell() == expected.tell()


def test_a_decrypted_file_is_read_in_windows() -> None:
    windows = list(read_windows(DecryptedFile(io.BytesIO(LOG), CIPHER), 5000, window=100))
    assert b"".join(windows) == PLAIN
    assert {len(window) for window in windows[:-1]} == {100}
