"""Errors in binary JSON: codes that kernels return instead of a position."""

from __future__ import annotations

OUTSIDE = -1
TOO_DEEP = -2
TOO_LONG = -3
UNKNOWN_TYPE = -4
UNKNOWN_LITERAL = -5
NOT_A_NUMBER = -6
NOT_UTF8 = -7
NOT_TEMPORAL = -8

REASONS = {
    OUTSIDE: "a JSON value or key extends outside its document or container",
    TOO_DEEP: "JSON is nested deeper than MySQL allows",
    TOO_LONG: "the text of a JSON value is longer than its bytes allow",
    UNKNOWN_TYPE: "a JSON value has an unknown type",
    UNKNOWN_LITERAL: "a JSON literal is not null, true or false",
    NOT_A_NUMBER: "a JSON number is not finite, or not a decimal",
    NOT_UTF8: "a JSON string is not valid UTF-8",
    NOT_TEMPORAL: "a JSON date or datetime is negative",
}
