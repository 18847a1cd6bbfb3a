"""Kernels for other processors than this machine's: an older x86, and ARM.

Kernels for the older x86 run here, with numba's target settings. For ARM, numba compiles them as it
would there, and the tests read their assembly. Each processor has its own folder in the suite's
cache, which is reused until the decoder or the log that warms it changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

import decoder
from decoder.kernels.cache import cache_folder
from decoder.kernels.memory import CHECKED, INTERPRETED
from decoder.stream import precompile as warm
from tests.support.decoder.kernels import kernels

pytestmark = pytest.mark.skipif(INTERPRETED or CHECKED, reason="nothing is compiled as it is used")

HERE = Path(__file__).parent
RECORDED = Path(warm.__file__).parent / "warm.binlog.zst"
RECORDINGS = HERE.parent.parent.parent / "data"
GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
OF_OTHER_PROCESSORS = {"crc32_by_folding", "crc32_by_instructions"}


def rows(data: bytes) -> list[Any]:
    """Return a log's changes as Python values, up to its first error, and that error's text."""
    found: list[Any] = []
    try:
        for changes in decoder.read(data):
            found.append([changes.table, changes.batch.to_pylist()])
    except decoder.BinlogError as error:
        found.append(str(error))
    return found


def logs() -> dict[str, bytes]:
    """Return the recordings, the log that warms kernels, and one with a damaged checksum."""
    found = {path.name: path.read_bytes() for path in sorted(RECORDINGS.glob("*.binlog"))}
    found["warm"] = zstandard.decompress(RECORDED.read_bytes())
    damaged = bytearray(found["warm"])
    damaged[len(damaged) // 2] ^= 1
    found["damaged"] = bytes(damaged)
    return found


def run(script: str, *arguments: str, **environment: str) -> Any:
    """Run a script in its own process; return the JSON it prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


WARM = """
import json
from pathlib import Path
from decoder.stream import precompile as warm
from decoder.kernels.cache import cache_folder
from decoder.kernels.processor import processor
from tests.support.decoder.kernels import kernels

warm.warm()
print(json.dumps({
    "folder": cache_folder().name,
    "processor": processor(),
    "unused": [
        name
        for _, name, kernel in kernels()
        # Another process may have compiled it, as part of a kernel that this process loads.
        if not (kernel.signatures or Path(kernel._cache._cache_file._index_path).exists())
    ],
}))
"""
DECODED = """
import json
from tests.unit.decoder.kernels.test_other_processors import logs, rows

print(json.dumps({name: repr(rows(log)) for name, log in logs().items()}))
"""


@pytest.fixture(scope="module")
def cache() -> str:
    """The cache folder for this version of the log that warms kernels; only warming writes it."""
    log = hashlib.sha256(RECORDED.read_bytes()).hexdigest()[:16]
    return str(Path(os.environ["BINLAKE_CACHE"], f"warmed-{log}"))


@pytest.fixture(scope="module")
def warmed(cache: str) -> dict[str, Any]:
    """The result of warming on x86 without PCLMULQDQ."""
    found: dict[str, Any] = run(WARM, BINLAKE_CACHE=cache, **GENERIC)
    return found


def test_warming_compiles_every_kernel_for_its_processor(warmed: dict[str, Any]) -> None:
    assert set(warmed["unused"]) == OF_OTHER_PROCESSORS


def test_each_processor_has_its_own_cache_folder(warmed: dict[str, Any]) -> None:
    assert warmed["processor"][1:] == ["generic", ""]
    assert warmed["folder"] != cache_folder().name


@pytest.mark.usefixtures("warmed")
def test_rows_are_the_same_without_special_instructions(cache: str, tmp_path: Path) -> None:
    copied = str(shutil.copytree(cache, tmp_path / "cache"))
    expected = {name: repr(rows(log)) for name, log in logs().items()}
    assert "checksum" in expected["damaged"].lower()
    assert run(DECODED, BINLAKE_CACHE=copied, **GENERIC) == expected


ARM = """
import importlib, json, pickle, sys
from tests.support.decoder.kernels import pretend_arm

pretend_arm(*sys.argv[1].split(","))
from numba import njit, types
from decoder.kernels.crc32 import crc32
from decoder.kernels.memory import copy_32, load_be64, load_i16, store_32
from decoder.kernels.processor import processor

data, tables = types.Array(types.uint8, 1, "C"), types.Array(types.uint32, 1, "C")
PRIMITIVES = {
    "crc32": (lambda b, s, e, t: crc32(b, s, e, t), (data, types.int64, types.int64, tables)),
    "copy_32": (lambda t, p, s, q: copy_32(t, p, s, q), (data, types.int64, data, types.int64)),
    "load_be64": (lambda b, p: load_be64(b, p), (data, types.int64)),
    "load_i16": (lambda b, p: load_i16(b, p), (data, types.int64)),
    "store_32": (lambda b, p, v: store_32(b, p, v), (data, types.int64, types.int64)),
}
found = {"architecture": processor().architecture}
for name, (function, arguments) in PRIMITIVES.items():
    compiled = njit(nogil=True, error_model="numpy", _nrt=False)(function)
    compiled.compile(arguments)
    lines = compiled.inspect_asm(compiled.signatures[0]).splitlines()
    found[name] = sorted({line.split()[0] for line in lines if line.startswith("\\t")})
if len(sys.argv) > 2:
    with open(sys.argv[2], "rb") as file:
        for module, name, signature in pickle.load(file):
            getattr(importlib.import_module(module), name).compile(signature)
print(json.dumps(found))
"""
CHECKSUM = {"crc32b", "crc32h", "crc32w", "crc32x"}


@pytest.mark.parametrize(
    ("processor", "checksum"),
    [("neoverse-n1,neon,crc", CHECKSUM), ("apple-m1", CHECKSUM), ("generic,neon", set())],
)
def test_checksums_use_arm_s_instructions_if_available(processor: str, checksum: set[str]) -> None:
    found = run(ARM, processor)
    assert found["architecture"] == "aarch64"
    assert CHECKSUM & set(found["crc32"]) == checksum


@pytest.fixture(scope="module")
def compiled_for_arm(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The instructions of every kernel compiled for ARM: kept with the kernels of this source."""
    used = hashlib.sha256(RECORDED.read_bytes() + ARM.encode()).hexdigest()[:16]
    kept = cache_folder() / f"arm-{used}.json"
    if not kept.exists():
        found = _compile_for_arm(tmp_path_factory.mktemp("arm") / "signatures")
        aside = kept.with_name(f"{kept.name}.{os.getpid()}")
        aside.write_text(json.dumps(found))
        aside.replace(kept)
    return json.loads(kept.read_text())


def _compile_for_arm(signatures: Path) -> Any:
    warm.use_every_kernel()
    used = [
        (module, name, signature)
        for module, name, kernel in kernels()
        if name not in OF_OTHER_PROCESSORS
        for signature in kernel.signatures
    ]
    assert len(used) > 50
    signatures.write_bytes(pickle.dumps(used))
    return run(ARM, "neoverse-n1,neon,crc", str(signatures))


def test_every_kernel_compiles_for_arm(compiled_for_arm: Any) -> None:
    found = compiled_for_arm
    assert {"ldp", "stp"} <= set(found["copy_32"])
    assert "rev" in found["load_be64"]
    assert "ldrsh" in found["load_i16"]
    assert "str" in found["store_32"]
