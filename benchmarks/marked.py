"""What benchmarks write into docs/contributing/benchmarks.md, each part between its marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).parents[1] / "docs" / "contributing" / "benchmarks.md"


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks around what `make TARGET` writes."""

    target: str

    @property
    def begin(self) -> str:
        """The line before it."""
        return f"<!-- written by `make {self.target}`: do not edit -->"

    @property
    def end(self) -> str:
        """The line behind it."""
        return f"<!-- end of what `make {self.target}` writes -->"

    def replaced(self, document: str, block: str) -> str:
        """The document with what is between the marks replaced. ValueError if they are missing."""
        before, begin, rest = document.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end:
            raise ValueError(f"the marks {self.begin!r} and {self.end!r} are not in the document")
        return f"{before}{self.begin}\n\n{block.strip()}\n\n{self.end}{after}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
