"""All kernels of the decoder, a foreign processor to compile them for, and tests in other modes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
import numba
from hypothesis import settings
from numba.core.dispatcher import Dispatcher

ARM_LINUX = "aarch64-unknown-linux-gnu"
OTHER_MODE = bool(numba.config.DISABLE_JIT or numba.config.BOUNDSCHECK)
"""Kernels are interpreted or checked in this process."""


def examples(count: int) -> settings:
    """Let Hypothesis try so many examples; only a fifth of them in another mode.

    Not for damaged or random bytes: they are what other modes find faults with.
    """
    return settings(max_examples=-(-count // 5) if OTHER_MODE else count)


def kernels() -> Iterator[tuple[str, str, Any]]:
    """Yield module, name and numba dispatcher of each kernel, where it is defined."""
    for found in pkgutil.walk_packages(importlib.import_module("decoder").__path__, "decoder."):
        module = importlib.import_module(found.name)
        for name, value in sorted(vars(module).items()):
            if isinstance(value, Dispatcher) and value.py_func.__module__ == found.name:
                yield found.name, name, value


def pretend_arm(cpu: str, *features: str) -> None:
    """Make numba compile for aarch64 from now on; this machine cannot run the result.

    Call this before numba creates its target, so in a separate process.
    """
    known = llvm.FeatureMap({feature: True for feature in features})
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for name, value in (
        ("get_process_triple", ARM_LINUX),
        ("get_default_triple", ARM_LINUX),
        ("get_host_cpu_name", cpu),
        ("get_host_cpu_features", known),
    ):
        setattr(llvm, name, lambda value=value: value)
