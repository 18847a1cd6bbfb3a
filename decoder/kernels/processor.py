"""The processor that kernels are compiled for.

This is numba's target: the machine's processor unless `NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` are
set (`generic` and empty: code for every processor of the architecture).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from numba.core.registry import cpu_target

_SPELLINGS = {"arm64": "aarch64", "amd64": "x86_64"}


class Processor(NamedTuple):
    """An LLVM target: `triple` like x86_64-unknown-linux-gnu, `features` like +crc,+neon,-sve."""

    triple: str
    name: str
    features: str

    @property
    def architecture(self) -> str:
        """LLVM's name of the architecture: x86_64, aarch64, …."""
        first = self.triple.split("-")[0]
        return _SPELLINGS.get(first, first)

    def has(self, feature: str) -> bool:
        """Return True if the processor has `feature` (LLVM's name)."""
        return f"+{feature}" in self.features.split(",")


@cache
def processor() -> Processor:
    """Return the processor that this process compiles kernels for."""
    return Processor(*cpu_target.target_context.codegen().magic_tuple())
