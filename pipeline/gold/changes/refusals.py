"""Refusals of changes that cannot be applied, and the writes that detect them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as sf

from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.patched_json import JsonDiffError
from pipeline.gold.table.state import Refusal, TableRefusedError

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
and the one that `convert` raises for values whose conversion is not known."""
_OWN_KEY = "name the source's own key under keys in the settings"


_NOT_COMPUTED = (
    "MariaDB leaves generated columns out of its row images, and Binlake only computes the"
    " expressions listed in docs/reference/types.md"
)
_REMEDIES = (
    "change the expression at the source and seed the table again (binlake seed), leave the table"
    " out (exclude in the settings), or continue without these values (on_fault: mark)"
)


def key_left_out(lsn: int, key: Sequence[str], left_out: LeftOut) -> TableRefusedError:
    """Return the error for before images that leave out columns of the key in the settings."""
    if generated := left_out.not_computed(key):
        return _not_passable(
            lsn,
            f"its key in the settings includes {_named(generated)}. {_NOT_COMPUTED}: name a key of"
            " other columns under keys in the settings",
        )
    return _not_passable(
        lsn,
        f"changes leave out columns of its key in the settings ({', '.join(key)}), since the source"
        f" uses another key: {_OWN_KEY}, or set binlog_row_image=FULL there",
    )


def key_inexact(lsn: int, key: Sequence[str]) -> TableRefusedError:
    """Return the error for a key in the settings whose value is a zero date or invalid text."""
    return _not_passable(
        lsn,
        f"a row's key in the settings ({', '.join(key)}) has a zero date or text that is invalid in"
        f" its charset, which other rows may have too: {_OWN_KEY}",
    )


def key_repeated(lsn: int, key: Sequence[str]) -> TableRefusedError:
    """Return the error for a key in the settings that is not unique."""
    same = f"two rows have the same key in the settings ({', '.join(key)})"
    return _not_passable(lsn, f"{same}: {_OWN_KEY}")


def _not_passable(lsn: int, reason: str) -> TableRefusedError:
    """Return the error for changes that gold may not skip."""
    return TableRefusedError(Refusal(lsn, reason, passable=False))


def row_left_out(lsn: int, left_out: LeftOut) -> TableRefusedError:
    """Return the error for before images of a keyless table that are not complete."""
    reason = "the log names no key of the table, and its changes do not contain whole rows"
    remedy = "name the source's key under keys in the settings"
    if generated := left_out.not_computed():
        return _not_passable(lsn, f"{reason}: {_named(generated)}. {_NOT_COMPUTED}: {remedy}")
    return _not_passable(lsn, f"{reason}: {remedy}, or set binlog_row_image=FULL there")


def refuse_unknown(changes: DataFrame, left_out: LeftOut, lsn: int) -> None:
    """Raise TableRefusedError if changes at `lsn` leave out unknown values, unless lenient."""
    if left_out.lenient:
        return
    unknown = left_out.unknown(changes.where(sf.col("__lsn") == lsn))
    reason = f"changes leave out columns whose values are not known: {_named(unknown)}"
    if any(one.name in unknown for one in left_out.unlogged):
        reason = f"{reason}. {_NOT_COMPUTED}: {_REMEDIES}"
    raise TableRefusedError(Refusal(lsn, reason))


def _named(columns: Mapping[str, str]) -> str:
    """Return the columns, each with its explanation, as text."""
    return ", ".join(f"{name} ({why})" if why else name for name, why in columns.items())


def write_computed(write: Callable[[], None], changes: DataFrame, left_out: LeftOut) -> None:
    """Run a write that may compute generated columns; raise TableRefusedError if it cannot."""
    stale = [one for one in left_out.unlogged if one.value is not None]
    if not stale:
        write()
        return
    try:
        write()
    except Exception as error:  # its type depends on how many tasks failed
        if "[USER_RAISED_EXCEPTION" not in str(error) or JsonDiffError.__name__ in str(error):
            raise
        condition = reduce(Column.__or__, (one.is_stale() for one in stale))
        row = changes.where(condition).agg(sf.min("__lsn")).first()
        if row is None or row[0] is None:
            raise
        reason = (
            f"changes leave out generated columns ({', '.join(one.name for one in stale)}), whose"
            f" values cannot be computed with certainty for at least one row: {_REMEDIES}"
        )
        raise TableRefusedError(Refusal(row[0], reason)) from error


def write_values(write: Callable[[], None], lsn: int) -> None:
    """Run a write that converts values as the DDL at `lsn` does; raise TableRefusedError if it
    fails because a value does not fit.
    """
    try:
        write()
    except Exception as error:  # its type depends on how many tasks failed
        if not any(f"[{name}" in str(error) for name in _MISFITS):
            raise
        raise _not_passable(
            lsn,
            "a value in gold does not fit its column's new type, or it is unknown how the source"
            " converted it: copy the table to a new one at the source and rename that",
        ) from error


def write_documents(write: Callable[[], None], found: Callable[[], DataFrame]) -> None:
    """Run a write that may apply JSON diffs; raise TableRefusedError if one does not fit.

    `found` returns the diffs that do not fit: columns `lsn` and `reason`.
    """
    try:
        write()
    except Exception as error:  # its type depends on how many tasks failed
        if JsonDiffError.__name__ not in str(error):
            raise
        _write_again(write, found)


def _write_again(write: Callable[[], None], found: Callable[[], DataFrame]) -> None:
    """Retry the write, now a no-op if another run did it meanwhile, which applied the diffs."""
    try:
        write()
    except Exception as error:
        first = found().orderBy("lsn").first()
        if first is None:
            raise
        reason = (
            "a JSON diff does not fit the document that it changes: either gold's row differs from"
            f" the source's, or an earlier change is missing ({first['reason']})"
        )
        raise TableRefusedError(Refusal(first["lsn"], reason)) from error
