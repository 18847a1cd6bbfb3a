"""Lines of docstrings and comments that longer names have made too long, wrapped again."""

from __future__ import annotations

import io
import re
import tokenize

WIDTH = 100


def reflow(text: str) -> str:
    """The same text, with docstrings' and comments' lines of at most 100 characters."""
    if all(len(line) <= WIDTH for line in text.split("\n")):
        return text
    lines = text.split("\n")
    prose: dict[int, tuple[int, str]] = {}  # line -> (last line of its docstring, prefix)
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        first, last = token.start[0] - 1, token.end[0] - 1
        if token.type == tokenize.STRING and token.string.startswith(('"""', 'r"""')):
            if before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT):
                for number in range(first, last + 1):
                    prose[number] = (last, "")
        elif token.type == tokenize.COMMENT and not lines[first][: token.start[1]].strip():
            prose[first] = (first, "# ")
        before = token.type
    out: list[str] = []
    carried = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        kind = prose.get(number)
        if carried:
            line = _joined(carried, line)
            carried = ""
        if kind is not None and len(line) > WIDTH:
            line, rest = _cut(line, kind[1])
            follows = number + 1 < len(lines) and prose.get(number + 1) is not None
            if rest and follows and _goes_on(lines[number], lines[number + 1], kind[1]):
                carried = rest
            elif rest:
                indent = re.match(r"\s*", line)[0]
                while rest:
                    out.append(line)
                    line, rest = _cut(f"{indent}{kind[1]}{rest}", kind[1])
        out.append(line)
        number += 1
    return "\n".join(out)


def _cut(line: str, prefix: str) -> tuple[str, str]:
    if len(line) <= WIDTH:
        return line, ""
    at = line.rfind(" ", 0, WIDTH + 1)
    while at > 0 and line[:at].count("`") % 2:
        at = line.rfind(" ", 0, at)
    if at <= len(re.match(r"\s*", line)[0]) + len(prefix):
        return line, ""
    return line[:at].rstrip(), line[at + 1 :].strip()


def _joined(rest: str, line: str) -> str:
    indent = re.match(r"\s*(# )?", line)[0]
    return f"{indent}{rest} {line[len(indent) :]}"


def _goes_on(line: str, following: str, prefix: str) -> bool:
    body, after = following.strip(), line.strip()
    if not body or body == '"""' or body == "#" or body.startswith(("- ", "* ", "#", "Raises", "`")) and prefix == "":
        return bool(body) and body.startswith("`")
    if line.rstrip().endswith('"""') and not after == '"""':
        return False
    same = len(re.match(r"\s*", line)[0]) == len(re.match(r"\s*", following)[0])
    return same and (prefix == "" or following.lstrip().startswith("# "))
