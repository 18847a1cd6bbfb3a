"""What of a part's changes cannot be applied, in words, and the writes that find it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as sf

from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.json_diff import JsonDiffError
from pipeline.gold.table.refusal import Refusal, TableRefusedError

_MISFITS = (
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "NUMERIC_OUT_OF_SUPPORTED_RANGE",
    "ARITHMETIC_OVERFLOW",
    "DATETIME_OVERFLOW",
    "USER_RAISED_EXCEPTION",
)
"""Spark's error conditions (`error/error-conditions.json`, class 22) for values that do not fit,
and the one that `convert` raises for those of which it is not known what they became."""
_OWN_KEY = "name the source's own key under keys in conf"


_NOT_COMPUTED = (
    "MariaDB leaves generated columns out of its images, and computed are those whose expressions"
    " docs/reference/types.md lists"
)
_WAYS_ON = (
    "change the expression at the source and load the table again (binlake seed), leave the table"
    " out (exclude in conf), or go on without these values (on_fault: mark)"
)


def key_left_out(lsn: int, key: Sequence[str], left_out: LeftOut) -> TableRefusedError:
    """Before images leave out columns of the key that conf gives."""
    if generated := left_out.not_computed(key):
        return _refused_key(
            lsn,
            f"its key in conf has {_named(generated)}. {_NOT_COMPUTED}: name a key of other"
            " columns under keys in conf",
        )
    return _refused_key(
        lsn,
        f"changes leave out columns of its key in conf ({', '.join(key)}), since the source tells"
        f" its rows apart by others: {_OWN_KEY}, or set binlog_row_image=FULL there",
    )


def key_inexact(lsn: int, key: Sequence[str]) -> TableRefusedError:
    """A key of conf has a zero date, or bytes that are not text, as decoded."""
    return _refused_key(
        lsn,
        f"a row's key in conf ({', '.join(key)}) has a zero date or text that is invalid in its"
        f" charset, which other rows may have too: {_OWN_KEY}",
    )


def key_repeated(lsn: int, key: Sequence[str]) -> TableRefusedError:
    """A key of conf is not one."""
    return _refused_key(lsn, f"two rows have the same key in conf ({', '.join(key)}): {_OWN_KEY}")


def _refused_key(lsn: int, reason: str) -> TableRefusedError:
    return TableRefusedError(Refusal(lsn, reason, passable=False))


def row_left_out(lsn: int, left_out: LeftOut) -> TableRefusedError:
    """Before images of a table without a key do not hold the whole row."""
    if generated := left_out.not_computed():
        reason = (
            f"the log names no key of the table, and changes do not hold the whole row that they"
            f" change: {_named(generated)}. {_NOT_COMPUTED}: name the source's key under keys in"
            " conf"
        )
        return TableRefusedError(Refusal(lsn, reason, passable=False))
    return TableRefusedError(
        Refusal(
            lsn,
            "changes do not hold the whole row that they change, and the log names no key of the"
            " table: name the source's key under keys in conf, or set binlog_row_image=FULL there",
            passable=False,
        )
    )


def refuse_unknown(changes: DataFrame, left_out: LeftOut, lsn: int) -> None:
    """Raise for the changes from `lsn` on that leave out what nothing tells, if that counts."""
    if left_out.lenient:
        return
    unknown = left_out.unknown(changes.where(sf.col("__lsn") == lsn))
    reason = f"changes leave columns out whose values are not known: {_named(unknown)}"
    if any(one.name in unknown for one in left_out.unlogged):
        reason = f"{reason}. {_NOT_COMPUTED}: {_WAYS_ON}"
    raise TableRefusedError(Refusal(lsn, reason))


def _named(columns: Mapping[str, str]) -> str:
    """Columns, each with what is to be said of it."""
    return ", ".join(f"{name} ({why})" if why else name for name, why in columns.items())


def write_computed(write: Callable[[], None], changes: DataFrame, left_out: LeftOut) -> None:
    """Carry out a write that may compute generated columns; raise for what is not certain."""
    stale = [one for one in left_out.unlogged if one.value is not None]
    if not stale:
        write()
        return
    try:
        write()
    except Exception as error:  # of which kind it is depends on how many tasks met it
        if "[USER_RAISED_EXCEPTION" not in str(error) or JsonDiffError.__name__ in str(error):
            raise
        condition = reduce(Column.__or__, (one.is_stale() for one in stale))
        row = changes.where(condition).agg(sf.min("__lsn")).first()
        if row is None or row[0] is None:
            raise
        reason = (
            f"changes leave generated columns out ({', '.join(one.name for one in stale)}), and it"
            f" is not certain what they are in a row: {_WAYS_ON}"
        )
        raise TableRefusedError(Refusal(row[0], reason)) from error


def write_values(write: Callable[[], None], lsn: int) -> None:
    """Carry out a write that converts values, as the statement at `lsn` did; raise for misfits."""
    try:
        write()
    except Exception as error:  # of which kind it is depends on how many tasks met it
        if not any(f"[{name}" in str(error) for name in _MISFITS):
            raise
        raise TableRefusedError(
            Refusal(
                lsn,
                "a value in gold does not fit the new type of its column, or it is not known what"
                " the source made of it: copy the table to a new one there and rename that",
                passable=False,
            )
        ) from error


def write_documents(write: Callable[[], None], found: Callable[[], DataFrame]) -> None:
    """Carry out a write that may apply JSON diffs; raise for those that do not fit the document.

    `found` gives them: columns `lsn` and `reason`.
    """
    try:
        write()
    except Exception as error:  # of which kind it is depends on how many tasks met it
        if JsonDiffError.__name__ not in str(error):
            raise
        _write_again(write, found)


def _write_again(write: Callable[[], None], found: Callable[[], DataFrame]) -> None:
    """Where another run did the step meanwhile, the documents have the diffs: now it is nothing."""
    try:
        write()
    except Exception as error:
        first = found().orderBy("lsn").first()
        if first is None:
            raise
        reason = (
            "a JSON diff does not fit the document that it changes: either what gold has is not"
            f" what the source had, or an earlier change is missing ({first['reason']})"
        )
        raise TableRefusedError(Refusal(first["lsn"], reason)) from error
