"""The values of generated columns whose expression determines them for certain.

Used for existing rows of an added column, and for rows where the server does not log the column but
all its sources are known. The expression is stored as JSON (see `expressions`); a conversion (see
`conversions`) describes how its result is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from decoder.columns.charsets import charset_of
from decoder.constants import BINARY_COLLATION, INSTANT_TYPES, INTEGER_BITS, ColumnType
from decoder.model import ColumnDefinition
from pipeline.schema_history.alter.text_conversions import characters
from pipeline.schema_history.ddl.actions import NewColumn
from pipeline.schema_history.ddl.addresses import may_be_address
from pipeline.schema_history.ddl.charsets import charset_in
from pipeline.schema_history.ddl.conversion_mode import (
    CAST,
    CLAMP,
    CLAMP_UNSIGNED,
    FITTING,
    NEAREST,
    ROUND,
    ROUNDED,
    RTRIM,
    SHORTEN,
    VALUES_CHANGE,
    ConversionMode,
    UnknownValueError,
)
from pipeline.schema_history.ddl.expression_reader import (
    INTEGER_DIGITS,
    TEXT_TYPES,
    read_expression,
)
from pipeline.schema_history.ddl.expressions import (
    MOST_DIGITS,
    Expression,
    as_number,
    kind_of,
    numeric,
)
from pipeline.schema_history.ddl.lexer import Kind, Token
from pipeline.schema_history.ddl.model import TableModel

_UNICODE = ("utf8mb4", "utf16", "utf16le", "utf32")
_SESSION_FUNCTIONS = (
    *("BENCHMARK", "CONNECTION_ID", "CURDATE", "CURRENT_DATE", "CURRENT_ROLE", "CURRENT_TIME"),
    *("CURRENT_TIMESTAMP", "CURRENT_USER", "CURTIME", "DATABASE", "DATE_FORMAT", "DAYNAME"),
    *("ENCRYPT", "FOUND_ROWS", "FROM_UNIXTIME", "GET_LOCK", "IS_FREE_LOCK", "IS_USED_LOCK"),
    *("LAST_INSERT_ID", "LASTVAL", "LOAD_FILE", "LOCALTIME", "LOCALTIMESTAMP", "MASTER_GTID_WAIT"),
    *("MASTER_POS_WAIT", "MONTHNAME", "NEXTVAL", "NOW", "RAND", "RANDOM_BYTES"),
    *("RELEASE_ALL_LOCKS", "RELEASE_LOCK", "ROWNUM", "ROW_COUNT", "SCHEMA", "SESSION_USER"),
    *("SETVAL", "SLEEP", "SYSDATE", "SYSTEM_USER", "SYS_GUID", "TO_CHAR", "UNIX_TIMESTAMP", "USER"),
    *("UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "UUID", "UUID_SHORT", "UUID_V4", "UUID_V7"),
    "VERSION",
)
"""Functions with which a VIRTUAL column may have another value each time it is read."""


def generated(
    column: NewColumn, table: Iterable[ColumnDefinition], mode: ConversionMode
) -> tuple[str, str]:
    """Return an added column's expression as JSON, and the conversion of its result.

    `table` are the columns that it may refer to. Raises `UnknownValueError`.
    """
    found = _read(column.expression, table, mode)
    return json.dumps(found.tree, ensure_ascii=False), _stored(found, column, mode)


def recomputed(
    column: ColumnDefinition,
    expression: Sequence[Token],
    table: Iterable[ColumnDefinition],
    mode: ConversionMode,
) -> tuple[str, str]:
    """Return the same for a column that MariaDB computed for a row under an unknown sql_mode.

    A value that does not fit is an error in a strict session, and the nearest value in others.
    """
    found = _read(expression, table, mode)
    if found.kind == "text" and (
        column.type in INTEGER_BITS or column.type is ColumnType.NEWDECIMAL
    ):
        found = numeric(found)
    return json.dumps(found.tree, ensure_ascii=False), _nearest(found, column)


def depends_on_session(expression: Sequence[Token], table: Mapping[str, ColumnDefinition]) -> bool:
    """Return True if the value may change although no column has.

    It may depend on the time, the session, or the time zone of a TIMESTAMP. `table` has the columns
    by case-folded name.
    """
    for token in expression:
        if token.is_sign("@") or token.is_word(*_SESSION_FUNCTIONS):
            return True
        named = token.kind in (Kind.WORD, Kind.NAME)
        column = table.get(token.text.casefold()) if named else None
        if column is not None and column.type in INSTANT_TYPES:
            return True
    return False


def keeps_generated(
    model: TableModel | None,
    old: ColumnDefinition,
    declared: NewColumn,
    how: str | None,
    *,
    mariadb: bool,
) -> bool:
    """Return True if the values generated from a column that is altered stay the same."""
    changes = (how or "").partition(":")[0] in VALUES_CHANGE
    if model is None:
        return not changes
    if not model.generates_from(old.name):
        return True
    if mariadb and may_be_address(old):
        return False  # its text may differ now
    charset = charset_of(old.collation) if old.collation is not None else None
    same_bytes = declared.charset in (None, charset)
    return same_bytes and not changes and _same_value(old, declared.definition)


def _same_value(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    """Return True if every expression over a column keeps its value when the column is changed."""
    if old.type in INTEGER_BITS and new.type in INTEGER_BITS:
        return not (old.unsigned or new.unsigned)  # ZEROFILL, not in table maps, would show
    lengthened = new.length >= old.length and new.length_bytes >= old.length_bytes
    appended = new.labels[: len(old.labels)] == old.labels
    wider = old.type is ColumnType.NEWDECIMAL and new.precision > old.precision
    return (
        lengthened
        and appended
        and replace(
            new,
            name=old.name,
            nullable=old.nullable,
            visible=old.visible,
            length=old.length,
            length_bytes=old.length_bytes,
            precision=old.precision if wider else new.precision,
            labels=old.labels,
            collation=old.collation,
        )
        == old
    )


def _read(
    tokens: Sequence[Token], table: Iterable[ColumnDefinition], mode: ConversionMode
) -> Expression:
    known = {one.name.casefold(): one for one in table}
    found = read_expression(tokens, known, mode)
    return as_number(found) if found.kind == "truth" else found


def _stored(found: Expression, column: NewColumn, mode: ConversionMode) -> str:
    """Return the conversion of the result; if STORED, a value that does not fit is an error."""
    target = column.definition
    mode.require_strict("a value may not fit")
    if not column.stored and not _fits(found, target):
        if target.type in INTEGER_BITS and found.digits and not (target.unsigned or mode.mariadb):
            return f"{CLAMP}:{INTEGER_BITS[target.type]}"
        raise UnknownValueError("a VIRTUAL column that may be too small for a value")
    if target.type in INTEGER_BITS and found.digits:
        return ROUND if found.scale else CAST
    if target.type is ColumnType.NEWDECIMAL and found.digits and target.precision <= MOST_DIGITS:
        return ROUNDED
    if _is_text(target) and found.kind == "text":
        if target.type is ColumnType.STRING:
            return RTRIM
        return f"{SHORTEN}:{characters(target)}"
    if target.type is ColumnType.DATE and found.kind == "date":
        return CAST
    raise _not_stored(found, target)


def _nearest(found: Expression, target: ColumnDefinition) -> str:
    if target.type in INTEGER_BITS and found.digits:
        clamp = CLAMP_UNSIGNED if target.unsigned else CLAMP
        return f"{clamp}:{INTEGER_BITS[target.type]}"
    if target.type is ColumnType.NEWDECIMAL and found.digits and target.precision <= MOST_DIGITS:
        if target.unsigned:
            raise UnknownValueError("its value as an unsigned DECIMAL")
        return NEAREST
    if _is_text(target) and found.kind == "text":
        return f"{FITTING}:{json.dumps(_room(found, target))}"
    if target.type is ColumnType.DATE and found.kind == "date":
        return CAST
    raise _not_stored(found, target)


def _not_stored(found: Expression, target: ColumnDefinition) -> UnknownValueError:
    if found.kind in ("other", "date", "datetime"):
        return UnknownValueError(f"its value, of {kind_of(found)}, as {target.type.name}")
    return UnknownValueError(f"its value as {target.type.name}")


def _room(found: Expression, target: ColumnDefinition) -> dict[str, bool | int]:
    charset = charset_in(target.collation)
    any_text = charset in _UNICODE or found.charsets == {charset}
    return {
        "characters": characters(target),
        "ascii": not any_text,
        "trimmed": target.type is ColumnType.STRING,
    }


def _is_text(target: ColumnDefinition) -> bool:
    return target.type in TEXT_TYPES and target.collation != BINARY_COLLATION


def _fits(found: Expression, target: ColumnDefinition) -> bool:
    """Return True if every number fits; for text, the charset is unknown."""
    if not found.digits or target.unsigned:
        return found.kind == "date"
    before_point = found.digits - found.scale + (1 if found.scale else 0)  # rounding may carry
    if target.type is ColumnType.NEWDECIMAL:
        return before_point <= target.precision - target.scale
    return before_point < INTEGER_DIGITS.get(target.type, 0) - (target.type is ColumnType.LONGLONG)
