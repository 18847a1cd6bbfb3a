"""A segment's decoder and bytes are freed after decoding, not at the next garbage collection.

A decoder holds its segment's bytes, tens of megabytes: where reference cycles keep them, a task
holds all segments that it has decoded since the last collection.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from decoder import Framer, SegmentDecoder, TypeOptions
from decoder.model.segment import Segment
from decoder.stream.excerpt import Excerpt
from tests.support.decoder.event_bytes import recorded

SEGMENT = Segment("binlog.000001", 1)


def decode(content: bytes) -> None:
    """Decode every result, as silver's tasks do."""
    for _ in SegmentDecoder(SEGMENT, TypeOptions()).decode([content]):
        pass


def survey(content: bytes) -> None:
    """Read definitions and statements only, as the survey does."""
    for _ in SegmentDecoder(SEGMENT, TypeOptions(), rows=False).decode([content]):
        pass


def give_up(content: bytes) -> None:
    """Stop at the first result."""
    next(SegmentDecoder(SEGMENT, TypeOptions()).decode([content]))


def keep_excerpt(content: bytes) -> None:
    """Build the excerpt that bronze stores for the survey."""
    framer, excerpt = Framer(), Excerpt()
    for window in framer.feed(content):
        excerpt.add(window)


@contextmanager
def cyclic_garbage(left: list[str]) -> Iterator[None]:
    """Collect the types of the decoder's objects that the block left in reference cycles."""
    gc.collect()
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left += [type(one).__qualname__ for one in gc.garbage if _is_ours(one)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _is_ours(one: object) -> bool:
    return type(one).__module__.startswith("decoder.")


def contents() -> Iterator[bytes]:
    """Yield logs, whole and with a byte damaged in the first events or in later ones."""
    for name in ("plain", "compressed", "minimal_metadata", "no_checksum", "statements", "tagged"):
        content = recorded(name)
        yield content
        for place in (8, 80, *(len(content) * tenths // 10 for tenths in (3, 5, 8))):
            flipped = bytearray(content)
            flipped[place] ^= 0xFF
            yield bytes(flipped)


def test_nothing_is_left_to_the_garbage_collector() -> None:
    found: dict[str, list[str]] = {}
    for use in (decode, survey, give_up, keep_excerpt):
        for content in contents():  # compiles kernels and fills caches, which stay
            use(content)
        left: list[str] = []
        with cyclic_garbage(left):
            for content in contents():
                use(content)
        if left:
            found[use.__name__] = left
    assert found == {}
