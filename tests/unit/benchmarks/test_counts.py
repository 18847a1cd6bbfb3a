"""Counts from the reports of programs and from mysqlbinlog's output."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from benchmarks.peers.counts import Counts, Pass, ProgramError, parse_passes
from benchmarks.peers.programs import count_printed

LINE = '{"events": 3, "images": 2, "cells": 8, "seconds": 0.5}'
PRINTED = b"""\
DELIMITER /*!*/;
# at 4
#260101  0:00:00 server id 1  end_log_pos 126 \tStart: binlog v 4
# at 126
### UPDATE `shop`.`orders`
### WHERE
###   @1=1
###   @2='a ### SET # at'
### SET
###   @1=1
###   @2=NULL
# at 300
### DELETE FROM `shop`.`orders`
### WHERE
###   @1=2
###   @2='b'"""


def test_each_line_of_a_report_is_a_pass() -> None:
    slower = LINE.replace("0.5", "0.75")
    assert parse_passes(f"{LINE}\n{slower}\n") == [
        Pass(Counts(3, 2, 8), 0.5),
        Pass(Counts(3, 2, 8), 0.75),
    ]


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("", "no pass"),
        ("error: no such file", "not a report"),
        ('{"events": 3, "images": 2, "seconds": 0.5}', "not a report"),
        ("[]", "not a report"),
        (f"{LINE}\n{LINE.replace('8', '9')}", "counts of its passes differ"),
    ],
)
def test_an_invalid_report_is_an_error(printed: str, reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        parse_passes(printed)


@given(st.sets(st.integers(0, len(PRINTED))))
def test_printed_rows_are_counted_wherever_the_output_is_split(splits: set[int]) -> None:
    chunks = [PRINTED[a:b] for a, b in pairwise([0, *sorted(splits), len(PRINTED)])]
    assert count_printed(chunks) == Counts(events=3, images=3, cells=6)
