"""The decoder's passes combined: from a segment's bytes to Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from decoder.stream.excerpt import Excerpt, ExcerptEvents, excerpt_content
    from decoder.stream.precompile import is_warm, warm
    from decoder.stream.segment_decoder import segment_of

__all__ = [
    "Excerpt",
    "ExcerptEvents",
    "event_reader",
    "excerpt_content",
    "is_warm",
    "segment_decoder",
    "segment_of",
    "warm",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "decoder.stream.excerpt": "Excerpt ExcerptEvents excerpt_content",
            "decoder.stream.precompile": "is_warm warm",
            "decoder.stream.segment_decoder": "segment_of",
        },
    )
