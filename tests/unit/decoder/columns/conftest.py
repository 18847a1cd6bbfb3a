"""Hypothesis draws the same examples in every run, as long as they may take.

Fewer of them where kernels are plain Python, which takes some fifty times as long: compiled ones
and those with checked access get them all.
"""

from __future__ import annotations

from hypothesis import settings

from decoder.memory import INTERPRETED

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=30 if INTERPRETED else 100,
)
settings.load_profile("repeatable")
