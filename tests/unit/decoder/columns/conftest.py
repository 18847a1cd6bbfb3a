"""Hypothesis uses the same examples in every run."""

from __future__ import annotations

from hypothesis import settings

from tests.support.decoder.kernels import examples

settings.register_profile("repeatable", examples(100), derandomize=True, database=None)
settings.load_profile("repeatable")
