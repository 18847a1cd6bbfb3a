"""Code blocks of README.md, the tutorial, the guides and troubleshooting, with page and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[3]
PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/troubleshooting.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs" / "guides").glob("*.md")),
)
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block; `line` is that of its first line of code, `language` may be empty."""

    page: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def code_blocks(*languages: str) -> Iterator[CodeBlock]:
    """Yield the blocks of these languages, or all, by page and line."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        for found in _BLOCK.finditer(text):
            line = text.count("\n", 0, found.start(2)) + 1
            if not languages or found[1] in languages:
                yield CodeBlock(page, line, found[1], dedent(found[2]))
