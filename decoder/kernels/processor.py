"""The processor that the kernels are compiled for.

Numba's own target, which is the machine's unless `NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` say
otherwise (`generic` and nothing: what every processor of its architecture can run).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from numba.core.registry import cpu_target

_SPELLINGS = {"arm64": "aarch64", "amd64": "x86_64"}


class Processor(NamedTuple):
    """What LLVM is told: `triple` as x86_64-unknown-linux-gnu, features as +crc,+neon,-sve."""

    triple: str
    name: str
    features: str

    @property
    def architecture(self) -> str:
        """x86_64, aarch64, or another of LLVM's."""
        spelt = self.triple.split("-")[0]
        return _SPELLINGS.get(spelt, spelt)

    def has(self, feature: str) -> bool:
        """Whether `feature`, by LLVM's name, may be used."""
        return f"+{feature}" in self.features.split(",")


@cache
def processor() -> Processor:
    """The processor of this process's kernels."""
    return Processor(*cpu_target.target_context.codegen().magic_tuple())
