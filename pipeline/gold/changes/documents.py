"""Spark expressions that apply JSON diffs to JSON columns.

A column's diffs are an array of {`lsn`, `diff`}: the LSN of the change, and the text that
`json_diff` reads.
"""

from __future__ import annotations

from pyspark.sql import Column, functions as sf, types as st

from pipeline.gold.changes.json_diff import JsonDiffError, apply_diffs

_PLACE = st.StructType(
    [st.StructField("at", st.IntegerType()), st.StructField("reason", st.StringType())]
)


def with_diffs(document: Column, diffs: Column, *, lenient: bool) -> Column:
    """Return the document with its diffs applied; `lenient`: skip those that do not fit it."""
    return (_FITTING if lenient else _APPLIED)(document, _texts(diffs))


def misfit(document: Column, diffs: Column) -> Column:
    """Return the LSN of the first change whose diffs do not fit the document, and the reason.

    Null if all of them fit.
    """
    found = _MISFIT(document, _texts(diffs))
    lsn = sf.get(diffs, found.getField("at")).getField("lsn")
    return sf.when(found.isNotNull(), sf.struct(lsn.alias("lsn"), found.getField("reason")))


def _texts(diffs: Column) -> Column:
    return sf.transform(diffs, lambda one: one["diff"])


def _applied(document: str | None, diffs: list[str] | None) -> str | None:
    """Apply the diffs; Spark also calls this for rows that a surrounding condition excludes."""
    if not diffs:
        return document
    if document is None:
        raise JsonDiffError("there is no document")
    return apply_diffs(document, diffs)


def _fitting(document: str | None, diffs: list[str] | None) -> str | None:
    for diff in diffs or ():
        if document is None or _why_not(document, diff):
            continue
        document = apply_diffs(document, [diff])
    return document


def _misfit(document: str | None, diffs: list[str] | None) -> tuple[int, str] | None:
    for place, diff in enumerate(diffs or ()):
        if reason := _why_not(document, diff):
            return place, reason
        document = _applied(document, [diff])
    return None


def _why_not(document: str | None, diff: str) -> str | None:
    """Return why a diff cannot be applied to a document, or None."""
    try:
        _applied(document, [diff])
    except JsonDiffError as error:
        return str(error)
    return None


_APPLIED = sf.udf(_applied, st.StringType(), useArrow=False)
_FITTING = sf.udf(_fitting, st.StringType(), useArrow=False)
_MISFIT = sf.udf(_misfit, _PLACE, useArrow=False)
