"""The marked blocks of a document that benchmarks write."""

from __future__ import annotations

import pytest

from benchmarks.debezium.document import MARKS as DEBEZIUM
from benchmarks.marked import DOCUMENT, Marks
from benchmarks.peers.document import MARKS as PEERS

MARKS = Marks("bench-this")


def test_only_the_block_between_the_marks_is_replaced() -> None:
    document = f"before\n{MARKS.begin}\nold\n{MARKS.end}\nafter\n"
    once = MARKS.replaced(document, "new")
    assert once == f"before\n{MARKS.begin}\n\nnew\n\n{MARKS.end}\nafter\n"
    assert MARKS.replaced(once, "new") == once


def test_another_benchmarks_block_stays() -> None:
    other = Marks("bench-that")
    document = "\n".join([other.begin, "theirs", other.end, MARKS.begin, "old", MARKS.end])
    assert "theirs" in MARKS.replaced(document, "new")


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="are not in the document"):
        MARKS.replaced("before\nafter\n", "new")


@pytest.mark.parametrize("marks", [PEERS, DEBEZIUM], ids=lambda marks: marks.target)
def test_the_repositorys_document_has_the_marks(marks: Marks) -> None:
    assert "new block" in marks.replaced(DOCUMENT.read_text(), "new block")
