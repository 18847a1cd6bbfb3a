"""Parts of an expression over a table's columns whose values are known for certain.

A part is a tree of lists, stored as JSON, which `pipeline.gold.schema.generated` evaluates:

- `["column", name, precision, scale]` (zeros for text), `["date", name]`, `["number", digits]`,
  `["text", characters]`, `["null"]`
- `[operator, left, right, precision, scale]` for arithmetic, `[comparison, left, right]`
- `["is_null", tree]`, `["not", tree]`, `["and", left, right]`, `["or", left, right]`;
  `["no_value", name]`: a column of any type is NULL; `["no_date", name]`: the same for a date
  column, where gold cannot distinguish NULL from a zero date
- `["case", condition, result, …, otherwise]`, `["coalesce", tree, …]`, `["function", tree, …]`
- `["as_number", tree]` (a condition), `["as_text", tree]`, `["numeric", tree]` (text), `["ascii",
  tree]` (known only for ASCII text), `["typed", tree, precision, scale]`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.schema_history.ddl.conversion_mode import UnknownValueError

MOST_DIGITS = 38
"""The most digits of a Delta decimal."""
_BIGINT_DIGITS = 20
"""The most digits of integer arithmetic: the server rejects larger results."""
_LONG_DIGITS = 18
"""Every number of this many digits is a BIGINT."""
_NUMERIC_DIGITS, _NUMERIC_SCALE = 36, 17
"""The largest numbers as text whose conversion is certain."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A part of an expression and the kind of its value.

    `kind` is number, truth, text, date, datetime, null, or other (a column for which only IS NULL
    is supported). A number has `digits` in all, `scale` of them after its point; `whole`: computed
    from integers only; `plain`: its text equals what SELECT prints. `charsets` are those of its
    non-ASCII text; `type` is that of a column which is neither number nor text.
    """

    tree: list[Any]
    kind: str = "number"
    digits: int = 0
    scale: int = 0
    whole: bool = False
    plain: bool = False
    charsets: frozenset[str] = field(default_factory=frozenset)
    type: str = ""

    @property
    def is_number(self) -> bool:
        """True if arithmetic on it is exact."""
        return self.kind in ("number", "truth")


NULL = Expression(["null"], "null")


def columns_of(tree: Sequence[Any]) -> Iterator[str]:
    """Yield the names of the columns in a tree."""
    if tree[0] in ("column", "date", "no_value", "no_date"):
        yield tree[1]
    else:
        for part in tree[1:]:
            if isinstance(part, list):
                yield from columns_of(part)


def chosen(conditions: Sequence[list[Any]], results: Sequence[Expression]) -> Expression:
    """Return a CASE: one result per condition, then the one if none holds."""
    common, trees = alike(results)
    pairs = [part for pair in zip(conditions, trees, strict=False) for part in pair]
    return replace(common, tree=["case", *pairs, trees[-1]])


def numeric(part: Expression) -> Expression:
    """Return text of digits as a number."""
    return Expression(["numeric", part.tree], digits=_NUMERIC_DIGITS, scale=_NUMERIC_SCALE)


def alike(parts: Sequence[Expression]) -> tuple[Expression, list[list[Any]]]:
    """Return the common kind of several values, and their trees converted to it."""
    known = [part for part in parts if part.kind != "null"]
    if known and all(part.is_number for part in known):
        numbers = [as_number(part) for part in known]
        scale = max(part.scale for part in numbers)
        digits = max(part.digits - part.scale for part in numbers) + scale
        _require_digits(digits)
        whole, plain = all(n.whole for n in numbers), all(n.plain for n in numbers)
        common = Expression([], digits=digits, scale=scale, whole=whole, plain=plain)
        return common, [
            ["typed", as_number(part).tree if part.is_number else part.tree, digits, scale]
            for part in parts
        ]
    if known and all(part.plain for part in known):
        return text_of([], known), [
            part.tree if part.kind == "null" else as_text(part).tree for part in parts
        ]
    kinds = " and ".join(sorted({kind_of(part) for part in known}))
    raise UnknownValueError(f"one of several values: {kinds or 'NULL'}")


def text_of(tree: list[Any], parts: Sequence[Expression]) -> Expression:
    """Return text made of other parts."""
    return Expression(
        tree, "text", plain=True, charsets=frozenset().union(*(part.charsets for part in parts))
    )


def kind_of(part: Expression) -> str:
    """Describe a part's kind in words, for messages."""
    if part.tree and part.tree[0] in ("date", "no_value", "no_date"):
        return f"column {part.tree[1]}{f' of type {part.type}' if part.type else ''}"
    return f"a {part.kind}"


def as_number(part: Expression) -> Expression:
    """Return a part as a number; a condition is 1 or 0."""
    if part.kind == "truth":
        return Expression(["as_number", part.tree], digits=1, whole=True, plain=True)
    if part.kind != "number":
        raise UnknownValueError(f"arithmetic of {kind_of(part)}")
    return part


def as_text(part: Expression) -> Expression:
    """Return a part as text; a number only if its printed form is certain."""
    if part.kind == "truth":
        part = as_number(part)
    if not part.plain:
        raise UnknownValueError(f"text of {kind_of(part)}, which is not a signed integer")
    return part if part.kind == "text" else text_of(["as_text", part.tree], [part])


def condition(part: Expression) -> list[Any]:
    """Return the tree of a part as a condition: true, false or NULL."""
    if part.kind in ("truth", "null"):
        return part.tree
    return ["<>", as_number(part).tree, ["number", "0"]]


def truth(tree: list[Any]) -> Expression:
    """Return a condition."""
    return Expression(tree, "truth", digits=1, whole=True)


def compared(sign: str, left: Expression, right: Expression) -> Expression:
    """Return a comparison of two numbers."""
    if not (left.is_number and right.is_number):
        compared = left if right.is_number else right
        raise UnknownValueError(f"a comparison of {kind_of(compared)}")
    return truth([sign, as_number(left).tree, as_number(right).tree])


def operation(sign: str, left: Expression, right: Expression) -> Expression:
    """Return arithmetic of two numbers."""
    left, right = as_number(left), as_number(right)
    whole = left.whole and right.whole
    if sign in ("div", "mod"):
        return _division(sign, left, right)
    if sign == "*":
        digits, scale = left.digits + right.digits, left.scale + right.scale
    else:
        scale = max(left.scale, right.scale)
        digits = max(left.digits - left.scale, right.digits - right.scale) + scale + 1
    digits = min(digits, _BIGINT_DIGITS) if whole else digits
    _require_digits(digits)
    return Expression(
        [sign, left.tree, right.tree, digits, scale],
        digits=digits,
        scale=scale,
        whole=whole,
        plain=whole and left.plain and right.plain,
    )


def _division(sign: str, left: Expression, right: Expression) -> Expression:
    if not (left.whole and right.whole) or max(left.digits, right.digits) > _LONG_DIGITS:
        raise UnknownValueError(f"{sign.upper()} of anything but integers of up to 18 digits")
    digits = left.digits if sign == "div" else right.digits
    return Expression([sign, left.tree, right.tree, digits, 0], digits=digits, whole=True)


def _require_digits(digits: int) -> None:
    if digits >= MOST_DIGITS:  # Spark reduces the scale to gain a digit before the point
        raise UnknownValueError(f"a number of {digits} digits")
