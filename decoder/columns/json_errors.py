"""What can be wrong with binary JSON: codes that kernels return in place of a position."""

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
    OUTSIDE: "a JSON value or key lies outside of the bytes that hold it",
    TOO_DEEP: "JSON is nested deeper than MySQL allows",
    TOO_LONG: "the text of a JSON value is longer than its bytes can mean",
    UNKNOWN_TYPE: "a JSON value of a type that MySQL does not have",
    UNKNOWN_LITERAL: "a JSON literal that is not null, true or false",
    NOT_A_NUMBER: "a JSON number that is not finite or not a decimal",
    NOT_UTF8: "a JSON string that is not UTF-8",
    NOT_TEMPORAL: "a date or time in JSON that MySQL never has",
}
