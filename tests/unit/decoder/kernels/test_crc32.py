"""CRC32 by folding and by tables equals zlib's, for any length, offset and content."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, strategies as st

from decoder.kernels.crc32 import TABLES, crc32
from decoder.kernels.crc32_tables import crc32_by_tables
from decoder.kernels.memory import Array, Bytes, kernel


@kernel
def fastest(buffer: Bytes, start: int, end: int, tables: Array) -> int:
    return crc32(buffer, start, end, tables)


CONTENT = np.random.default_rng(7).integers(0, 256, 5000).astype(np.uint8)


@pytest.mark.parametrize("start", [0, 15, 16, 17, 33])
def test_any_length_equals_zlib(start: int) -> None:
    for length in [*range(300), 1000, 1023, 1024, 1025, 4900]:
        expected = zlib.crc32(CONTENT[start : start + length].tobytes())
        assert fastest(CONTENT, start, start + length, TABLES) == expected
        assert crc32_by_tables(CONTENT, start, start + length, TABLES) == expected


@given(content=st.binary(min_size=40, max_size=400), fill=st.sampled_from([b"\0", b"\xff"]))
def test_bytes_before_the_content_do_not_matter(content: bytes, fill: bytes) -> None:
    buffer = np.frombuffer(bytearray(fill * 16 + content), np.uint8)
    assert fastest(buffer, 16, len(buffer), TABLES) == zlib.crc32(content)


FORCED = """
import zlib, numpy as np
from decoder.kernels.crc32 import TABLES, crc32
from decoder.kernels.crc32_folding import folding_available
from decoder.kernels.memory import kernel

@kernel
def run(buffer, start, end, tables): return crc32(buffer, start, end, tables)

content = np.arange(999).astype(np.uint8)
assert run(content, 16, 999, TABLES) == zlib.crc32(content[16:].tobytes())
print(folding_available())
"""


def test_a_processor_without_the_instruction_uses_tables() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORCED],
        env={**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
