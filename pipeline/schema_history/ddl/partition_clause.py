"""Parse PARTITION BY, partition definitions, and the partition actions of ALTER TABLE."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from itertools import pairwise

from pipeline.schema_history.ddl.actions import (
    Action,
    AddPartitions,
    DropPartitions,
    ReorganizePartitions,
    Repartition,
    RowsNotLogged,
    TruncatePartitions,
)
from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, split
from pipeline.schema_history.ddl.effects import (
    DropTable,
    Effect,
    RowsChanged,
    TableName,
    Unsupported,
)
from pipeline.schema_history.ddl.lexer import Kind, Token
from pipeline.schema_history.ddl.names import read_name
from pipeline.schema_history.ddl.partitions import Function, Partition, Partitioning

COPY_REMEDY = (
    "; to replicate it again, replace it with a copy"
    " (CREATE TABLE … LIKE, INSERT … SELECT, RENAME TABLE)"
)
_FIRST_DAY = 365
"""TO_DAYS of the day before Python's ordinal 1."""
_MIDNIGHT = re.compile(r"(.{8,10})(?:[ T]00:00:00(?:\.0*)?)?")
_FUNCTIONS: dict[str, Function] = {"YEAR": "YEAR", "TO_DAYS": "TO_DAYS"}


def partitioned_by(options: Sequence[Token]) -> Partitioning | None:
    """Return the PARTITION BY among a CREATE TABLE's options.

    None if it has none, or if one column does not determine each row's partition.
    """
    for at in range(len(options)):
        if TokenCursor(options[at : at + 2]).accept("PARTITION", "BY"):
            return _partitioning(options[at + 2 :])
    return None


def _partitioning(tokens: Sequence[Token]) -> Partitioning | None:
    cursor = TokenCursor(tokens)
    method = cursor.accept_any("RANGE", "LIST")
    if method is None:
        return None
    try:
        cursor.accept("COLUMNS")
        column, function = _partitioned_column(TokenCursor(cursor.group()))
        found = _definitions(cursor.rest())
    except (ReadError, ValueError):
        return None
    if function == "" and _has_days(tokens):
        function = "TO_DAYS"  # RANGE COLUMNS of dates, whose bounds are whole days
    return Partitioning("RANGE" if method == "RANGE" else "LIST", column, function, tuple(found))


def _has_days(tokens: Sequence[Token]) -> bool:
    """Return True if a bound is a string: strings of other options follow a word or `=`."""
    return any(
        token.kind is Kind.STRING and (before.is_sign("(") or before.is_sign(","))
        for before, token in pairwise(tokens)
    )


def _partitioned_column(cursor: TokenCursor) -> tuple[str, Function]:
    """Return the partitioning column and the function of it. Raises `ReadError`."""
    name = cursor.name()
    if cursor.done:
        return name, ""
    function = _FUNCTIONS.get(name.upper())
    inner = TokenCursor(cursor.group())
    column = inner.name()
    if function is None or not (cursor.done and inner.done):
        raise ReadError("partitioned by an expression")
    return column, function


def _definitions(tokens: Sequence[Token]) -> list[Partition]:
    """Read the first parenthesized list of partition definitions."""
    cursor = TokenCursor(tokens)
    while not cursor.done:
        if not cursor.peek().is_sign("("):
            cursor.next()
            continue
        inside = cursor.group()
        if inside and inside[0].is_word("PARTITION"):
            return [_definition(TokenCursor(part)) for part in split(inside)]
    return []


def _definition(cursor: TokenCursor) -> Partition:
    cursor.expect("PARTITION")
    name = cursor.name()
    if cursor.accept("VALUES", "IN"):
        values = (None if _is(part, "NULL") else _bound(part) for part in split(cursor.group()))
        return Partition(name, values=tuple(values))
    cursor.expect("VALUES", "LESS", "THAN")
    if cursor.accept("MAXVALUE"):
        return Partition(name)
    bound = cursor.group()
    return Partition(name, None if _is(bound, "MAXVALUE") else _bound(bound))


def _is(tokens: Sequence[Token], word: str) -> bool:
    return len(tokens) == 1 and tokens[0].is_word(word)


def _bound(tokens: Sequence[Token]) -> int:
    """Read a number, or a date as its day number. Raises `ReadError`, or ValueError for no date."""
    cursor = TokenCursor(tokens)
    if cursor.accept("TO_DAYS"):
        return _bound(cursor.group())
    if cursor.peek().kind is Kind.STRING:
        found = _MIDNIGHT.fullmatch(cursor.next().text)
        if found is None or not cursor.done:
            raise ReadError("the bound is not a whole day")
        return date.fromisoformat(found.group(1)).toordinal() + _FIRST_DAY
    sign = -1 if cursor.accept_sign("-") else 1
    number = sign * cursor.integer()
    if not cursor.done:
        raise ReadError("the bound is an expression")
    return number


def split_partition_options(tokens: Sequence[Token]) -> tuple[list[Token], list[Action]]:
    """Split an ALTER TABLE's actions from a trailing PARTITION BY or REMOVE PARTITIONING.

    Neither needs a comma before it.
    """
    depth = 0
    for at, token in enumerate(tokens):
        depth += token.is_sign("(") - token.is_sign(")")
        cursor = TokenCursor(tokens[at : at + 2])
        if depth == 0 and cursor.accept("PARTITION", "BY"):
            return list(tokens[:at]), [Repartition(_partitioning(tokens[at + 2 :]))]
        if depth == 0 and cursor.accept("REMOVE", "PARTITIONING"):
            return list(tokens[:at]), [Repartition(None)]
    return list(tokens), []


def partition_action(
    tokens: Sequence[Token], name: TableName, schema: str | None
) -> tuple[list[Action], list[Effect]] | None:
    """Return an ALTER TABLE's only action, on partitions, and its effect on another table.

    None if the action is of another kind. Raises `ReadError`.
    """
    cursor = TokenCursor(tokens)
    while _skip_modifier(cursor):
        pass
    if cursor.accept("CONVERT", "PARTITION"):
        return _partition_to_table(cursor, name, schema)
    if cursor.accept("CONVERT", "TABLE"):
        return _table_to_partition(cursor, schema)
    if cursor.accept("EXCHANGE", "PARTITION"):
        return _exchanged(cursor, name, schema)
    for verb, read in _VERBS.items():
        if cursor.accept(verb, "PARTITION"):
            return read(cursor), []
    return None


def _skip_modifier(cursor: TokenCursor) -> bool:
    """Skip `ALGORITHM = x,`, `LOCK = x,` or `WITH VALIDATION,`."""
    if cursor.accept_any("ALGORITHM", "LOCK"):
        cursor.accept_sign("=")
        cursor.next()
    elif not (cursor.accept("WITH", "VALIDATION") or cursor.accept("WITHOUT", "VALIDATION")):
        return False
    return cursor.accept_sign(",")


def _names(cursor: TokenCursor) -> tuple[str, ...] | None:
    """Read names of partitions; None: ALL."""
    if cursor.accept("ALL"):
        return None
    names = [cursor.name()]
    while cursor.accept_sign(","):
        names.append(cursor.name())
    return tuple(names)


def _dropped(cursor: TokenCursor) -> list[Action]:
    if_exists = cursor.accept("IF", "EXISTS")
    return [DropPartitions(_names(cursor) or (), if_exists)]


def _added(cursor: TokenCursor) -> list[Action]:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    try:
        return [AddPartitions(tuple(_definitions(cursor.rest())), if_not_exists)]
    except (ReadError, ValueError):
        return [Repartition(None)]


def _reorganized(cursor: TokenCursor) -> list[Action]:
    if cursor.done:
        return []
    try:
        names = _names(cursor) or ()
        cursor.expect("INTO")
        return [ReorganizePartitions(names, tuple(_definitions(cursor.rest())))]
    except (ReadError, ValueError):
        return [Repartition(None)]


_FROM_FILES = RowsNotLogged(f"DISCARD and IMPORT PARTITION change unlogged rows{COPY_REMEDY}")
_VERBS: dict[str, Callable[[TokenCursor], list[Action]]] = {
    "DROP": _dropped,
    "TRUNCATE": lambda cursor: [TruncatePartitions(_names(cursor))],
    "ADD": _added,
    "REORGANIZE": _reorganized,
    **dict.fromkeys(("DISCARD", "IMPORT"), lambda _cursor: [_FROM_FILES]),
    **dict.fromkeys(
        ("COALESCE", "REBUILD", "OPTIMIZE", "ANALYZE", "CHECK", "REPAIR"), lambda _cursor: []
    ),
}
"""By first word. The actions without effect only move rows between HASH or KEY partitions."""


def _exchanged(
    cursor: TokenCursor, name: TableName, schema: str | None
) -> tuple[list[Action], list[Effect]]:
    """Read EXCHANGE PARTITION p WITH TABLE t: both tables get rows that are not logged."""
    cursor.name()
    cursor.expect("WITH", "TABLE")
    other = read_name(cursor, schema)
    return (
        [RowsNotLogged(f"one of its partitions is exchanged with {other}{COPY_REMEDY}")],
        [RowsChanged(other, f"its rows are exchanged with a partition of {name}{COPY_REMEDY}")],
    )


def _partition_to_table(
    cursor: TokenCursor, name: TableName, schema: str | None
) -> tuple[list[Action], list[Effect]]:
    """Read MariaDB's CONVERT PARTITION p TO TABLE t after its first two words."""
    cursor.name()
    cursor.expect("TO", "TABLE")
    other = read_name(cursor, schema)
    created = f"it is created from a partition of {name}{COPY_REMEDY}"
    reason = f"one of its partitions becomes table {other}{COPY_REMEDY}"
    effect = Unsupported(other, created, creates=True)
    return [RowsNotLogged(reason), Repartition(None)], [effect]


def _table_to_partition(
    cursor: TokenCursor, schema: str | None
) -> tuple[list[Action], list[Effect]]:
    """Read MariaDB's CONVERT TABLE t TO PARTITION p … after its first two words."""
    other = read_name(cursor, schema)
    reason = f"table {other} becomes one of its partitions{COPY_REMEDY}"
    return [RowsNotLogged(reason), Repartition(None)], [DropTable(other)]
